#if PostgreSQL
    public import Foundation
    public import ObjectStores

    extension PostgreSQLObjectStore {
        // MARK: - Objects

        /// Creates an object, with one `INSERT … ON CONFLICT DO NOTHING`.
        ///
        /// - Parameters:
        ///   - name: A name that ``/ObjectStores/ObjectName`` allows.
        ///   - bytes: The content, at most 64 MiB.
        /// - Returns: false if the name exists; also if the answer to an earlier try was lost.
        /// - Throws: ``/ObjectStores/StoreError``; `CancellationError`.
        public func create(_ name: String, _ bytes: Data) async throws -> Bool {
            try ObjectName.check(name)
            // Durable whatever the role's default is; set for this statement only, since with
            // PgBouncer a session belongs to nobody. Stricter values remain.
            let rows = try await run(
                Statement(
                    """
                    WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit',
                        CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
                        THEN 'on' ELSE current_setting('synchronous_commit') END, true))
                    INSERT INTO securestorage_object (grp, name, bytes) SELECT $1, $2, $3 FROM durable
                    ON CONFLICT DO NOTHING RETURNING true
                    """, .text(group), .text(name), .bytes(bytes)))
            return !rows.isEmpty
        }

        /// Returns the content of an object or a mark; nil if the name does not exist.
        ///
        /// - Parameter name: A name that ``/ObjectStores/ObjectName`` allows.
        /// - Returns: The whole content.
        /// - Throws: ``/ObjectStores/StoreError``, with 42501 if the role is not a member of the
        ///   group; `CancellationError`.
        public func read(_ name: String) async throws -> Data? {
            try ObjectName.check(name)
            let rows = try await run(
                Statement(
                    """
                    SELECT coalesce(o.bytes, k.bytes) FROM securestorage_member m
                    LEFT JOIN securestorage_object o ON o.grp = m.grp AND o.name = $2
                    LEFT JOIN securestorage_mark k ON k.grp = m.grp AND k.name = $2
                    WHERE m.grp = $1 AND m.role = current_user
                    """, .text(group), .text(name)))
            return try ofMember(rows)[0][0]
        }

        /// Returns the next 1000 objects whose names begin with `prefix`; no marks.
        ///
        /// - Parameters:
        ///   - prefix: The beginning of the names.
        ///   - after: Only greater names are returned.
        /// - Returns: The objects, in the order of the names' bytes.
        /// - Throws: ``/ObjectStores/StoreError``, with 42501 if the role is not a member of the
        ///   group; `CancellationError`.
        public func list(_ prefix: String, after: String?) async throws -> ObjectPage {
            try ObjectName.check(prefix: prefix)
            // Names are ASCII: a greater character than all of theirs ends the names with the
            // prefix.
            let rows = try await run(
                Statement(
                    """
                    SELECT o.name, o.size FROM securestorage_member m LEFT JOIN LATERAL (
                        SELECT name, octet_length(bytes) AS size FROM securestorage_object
                        WHERE grp = m.grp AND name >= $2 AND name < $3 AND name > $4
                        ORDER BY name COLLATE "C" LIMIT 1000) o ON true
                    WHERE m.grp = $1 AND m.role = current_user ORDER BY o.name COLLATE "C"
                    """, .text(group), .text(prefix), .text(prefix + "\u{7F}"), .text(after ?? "")))
            let objects: [StoredObject] = try ofMember(rows).compactMap { row in
                guard let name = row[0], let size = row[1] else { return nil }
                return StoredObject(name: name.text, size: size.bigEndianInteger)
            }
            return ObjectPage(objects, isTruncated: objects.count == 1000)
        }

        /// Removes objects and marks, 10 000 in each transaction; unknown names are ignored.
        ///
        /// - Parameter names: Any number of names.
        /// - Throws: ``/ObjectStores/StoreError``; `CancellationError`.
        public func remove(_ names: [String]) async throws {
            for name in names { try ObjectName.check(name) }
            for start in stride(from: 0, to: names.count, by: 10_000) {
                let some = Array(names[start..<min(start + 10_000, names.count)])
                _ = try await run(
                    Statement(
                        """
                        WITH object AS (
                            DELETE FROM securestorage_object WHERE grp = $1 AND name = ANY ($2))
                        DELETE FROM securestorage_mark WHERE grp = $1 AND name = ANY ($2)
                        """, .text(group), .texts(some)))
            }
        }

        /// Returns the rows, of which there is at least one for a member of the group.
        ///
        /// To others everything is invisible, which must not look as if nothing existed.
        private func ofMember(_ rows: Rows) throws -> [[Data?]] {
            if rows.isEmpty { throw Failures.noMember(group) }
            return rows.values
        }

        // MARK: - Marks

        /// Sets a mark, with one `INSERT … ON CONFLICT DO UPDATE`.
        ///
        /// - Parameters:
        ///   - name: A name that no object has.
        ///   - bytes: At most 1 KiB.
        /// - Throws: ``/ObjectStores/StoreError``; `CancellationError`.
        public func mark(_ name: String, _ bytes: Data) async throws {
            try ObjectName.check(name)
            let statement =
                core.listener == nil
                ? Statement(
                    """
                    INSERT INTO securestorage_mark AS k (grp, name, bytes) VALUES ($1, $2, $3)
                    ON CONFLICT (grp, name) DO UPDATE SET bytes = excluded.bytes, version = k.version + 1
                    """, .text(group), .text(name), .bytes(bytes))
                : MarkListener.notifyingMark(group, name, bytes)
            _ = try await run(statement)
        }

        /// Waits until a mark is set, and looks for it after pauses of 0.2 to 5 seconds.
        ///
        /// - Parameters:
        ///   - name: The mark's name.
        ///   - tag: What the call before returned; nil for a mark that was not seen.
        ///   - limit: The longest time to wait.
        /// - Returns: The mark's version if it is another than `tag`; nil when the time is over.
        /// - Throws: ``/ObjectStores/StoreError``, with 42501 if the role is not a member of the
        ///   group; `CancellationError`.
        public func waitForMark(
            _ name: String, since tag: String?, atMost limit: Duration
        ) async throws -> String? {
            try ObjectName.check(name)
            let end = ContinuousClock.now + limit
            let payload = MarkListener.payload(group, name)
            var pause = Duration.milliseconds(200)
            while true {
                let seen = core.listener?.count(payload)
                let now = try await version(name, before: end)
                if let now, now != tag { return now }
                let rest = end - .now
                guard rest > .zero else { return nil }
                if let listener = core.listener, let seen {
                    try await listener.wait(payload, beyond: seen, atMost: min(pause, rest))
                } else {
                    try await Task.sleep(for: min(pause, rest))
                }
                pause = min(pause * 2, .seconds(5))
            }
        }

        private func version(
            _ name: String, before end: ContinuousClock.Instant
        ) async throws -> String? {
            let rows = try await run(
                Statement(
                    """
                    SELECT k.version FROM securestorage_member m
                    LEFT JOIN securestorage_mark k ON k.grp = m.grp AND k.name = $2
                    WHERE m.grp = $1 AND m.role = current_user
                    """, .text(group), .text(name)),
                patience: min(patience, max(.seconds(1), end - .now)))
            return try ofMember(rows)[0][0].map { String($0.bigEndianInteger) }
        }
    }
#endif
