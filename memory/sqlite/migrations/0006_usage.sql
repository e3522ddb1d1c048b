-- What the entries of a tenant come to that are neither retired nor erased: their number,
-- and the bytes of their content. Triggers count, so that no statement can forget to.

ALTER TABLE tenants ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN size INTEGER NOT NULL DEFAULT 0; -- of the content, in bytes

UPDATE entries SET size = (SELECT octet_length(content) FROM texts t WHERE t.entry = entries.entry) WHERE NOT erased;
UPDATE tenants SET (entries, bytes) = (SELECT count(*), ifnull(sum(size), 0) FROM entries e
	WHERE e.tenant = tenants.tenant AND died = 9223372036854775807);

CREATE TRIGGER entries_come AFTER INSERT ON entries WHEN NEW.died = 9223372036854775807 BEGIN
	UPDATE tenants SET entries = entries + 1, bytes = bytes + NEW.size WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER entries_return AFTER UPDATE OF died ON entries
		WHEN NEW.died = 9223372036854775807 AND OLD.died < 9223372036854775807 BEGIN
	UPDATE tenants SET entries = entries + 1, bytes = bytes + NEW.size WHERE tenant = NEW.tenant;
END;
CREATE TRIGGER entries_end AFTER UPDATE OF died ON entries
		WHEN OLD.died = 9223372036854775807 AND NEW.died < 9223372036854775807 BEGIN
	UPDATE tenants SET entries = entries - 1, bytes = bytes - OLD.size WHERE tenant = OLD.tenant;
END;
CREATE TRIGGER entries_go AFTER DELETE ON entries WHEN OLD.died = 9223372036854775807 BEGIN
	UPDATE tenants SET entries = entries - 1, bytes = bytes - OLD.size WHERE tenant = OLD.tenant;
END;
