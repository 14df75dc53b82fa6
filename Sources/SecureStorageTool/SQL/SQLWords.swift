/// The words that Tab completes.
enum SQLWords {
    /// [SQLite's keywords](https://sqlite.org/lang_keywords.html).
    static let keywords = """
        ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEFORE BEGIN
        BETWEEN BY CASCADE CASE CAST CHECK COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS
        CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DATABASE DEFAULT DEFERRABLE DEFERRED
        DELETE DESC DETACH DISTINCT DO DROP EACH ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS
        EXPLAIN FAIL FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GROUP GROUPS HAVING
        IF IGNORE IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD INTERSECT INTO IS ISNULL
        JOIN KEY LAST LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NO NOT NOTHING NOTNULL NULL NULLS OF
        OFFSET ON OR ORDER OTHERS OUTER OVER PARTITION PLAN PRAGMA PRECEDING PRIMARY QUERY RAISE
        RANGE RECURSIVE REFERENCES REGEXP REINDEX RELEASE RENAME REPLACE RESTRICT RETURNING RIGHT
        ROLLBACK ROW ROWS SAVEPOINT SELECT SET STRICT TABLE TEMP TEMPORARY THEN TIES TO TRANSACTION
        TRIGGER UNBOUNDED UNION UNIQUE UPDATE USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE WINDOW
        WITH WITHOUT
        """.split(whereSeparator: \.isWhitespace).map { String($0) }

    /// SQLCipher's pragmas, which the engine does not list.
    ///
    /// Those that take a key are left out: a key is not for a statement.
    static let cipherPragmas = """
        cipher_compatibility cipher_integrity_check cipher_memory_security cipher_page_size
        cipher_plaintext_header_size cipher_provider cipher_provider_version cipher_settings
        cipher_status cipher_use_hmac cipher_version
        """.split(whereSeparator: \.isWhitespace).map { String($0) }

    /// The words after which the name of a table or view follows.
    static let beforeTable: Set<String> = [
        "FROM", "JOIN", "INTO", "UPDATE", "TABLE", "REFERENCES", "ANALYZE", "REINDEX", "VIEW",
    ]
}
