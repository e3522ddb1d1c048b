-- What 0007_sums.sql and the code beside it have carried over.

DROP TABLE old_texts;
DROP TABLE old_bodies;
