-- What 0004_documents.sql and the code beside it have carried over.

DROP TABLE old_entries;
DROP TABLE old_scars;
DROP TABLE subjects;
DROP TABLE cells;
DROP TABLE commitments;
DROP TABLE archives;
DROP TABLE archive_keys;
DROP TABLE files;
DROP TABLE file_events;
