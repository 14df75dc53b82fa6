import SecureStorage
import SecureSync
import TestSupport

/// What the app of a device writes.
extension SimulatedGroup {
    mutating func write(_ device: SimulatedDevice) throws {
        guard device.role != .reader else { return }
        let statements = (0..<(1 + below(4))).map { _ in statement(device) }
        log.append("\(device.name): \(statements.joined(separator: "; "))")
        let token = Int64(random.next() >> 8)
        let isPair = device.isOriginal && chance(40)
        let entry = chance(30) ? "e\(random.next() >> 16)" : nil
        let table = chance(50) ? "setting (name, place)" : "link (source, target)"
        try device.queue.write { db in
            for statement in statements { try db.executeUpdate(statement) }
            if let entry {
                try db.executeUpdate(
                    "INSERT INTO \(table) VALUES (?, 0)", values: [entry])
            }
            guard isPair else { return }
            for half in ["l", "r"] {
                try db.executeUpdate(
                    "INSERT INTO pair VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET token = ?2",
                    values: [device.name + half, token])
            }
        }
        if let entry { entries[entry] = Entry(device: device.name) }
        if hasEdges, chance(40) { try tellStory(device) }
    }

    mutating func statement(_ device: SimulatedDevice) -> String {
        let parent = "'p\(below(4))'"
        let child = "x'0\(below(6))'"
        let value = ["NULL", "1", "'t\(below(90))'", "x'ff00'", "2.5", "\(below(1000))"][below(6)]
        let code = ["NULL", "'c1'", "'c2'", "'c3'"][below(4)]
        let known = "(SELECT id FROM parent ORDER BY id LIMIT 1 OFFSET \(below(3)))"
        let pair = "\(below(50))"
        if device.version == .second, chance(35) { return laterStatement(parent, value) }
        switch below(16) {
        case 0, 1:
            return """
                INSERT INTO parent (id, name, code) VALUES (\(parent), \(value), \(code))
                ON CONFLICT DO NOTHING
                """
        case 2: return "REPLACE INTO parent (id, name, code) VALUES (\(parent), \(value), \(code))"
        case 3: return "UPDATE parent SET name = \(value) WHERE id = \(parent)"
        case 4: return "UPDATE OR IGNORE parent SET code = \(code) WHERE id = \(parent)"
        case 5: return "DELETE FROM parent WHERE id = \(parent)"
        case 6, 7:
            return """
                INSERT INTO child VALUES (\(child), \(known), \(value), \(pair), \(pair))
                ON CONFLICT DO NOTHING
                """
        case 8: return "UPDATE child SET text = \(value) WHERE id = \(child)"
        case 9: return "UPDATE child SET a = \(pair), b = \(pair) WHERE id = \(child)"
        case 10: return "UPDATE child SET parent = \(known) WHERE id = \(child)"
        case 11: return "DELETE FROM child WHERE id = \(child)"
        case 12:
            return """
                REPLACE INTO setting (name, place, value, other)
                VALUES ('s\(below(3))', 1, \(value), \(pair))
                """
        case 13: return "DELETE FROM setting WHERE name = 's\(below(3))'"
        case 14: return "INSERT OR IGNORE INTO link VALUES (\(parent), 'l\(below(2))')"
        default: return "DELETE FROM link WHERE source = \(parent)"
        }
    }

    /// What only the second version of the app writes.
    private mutating func laterStatement(_ parent: String, _ value: String) -> String {
        let key = "'k\(below(3))'"
        switch below(8) {
        case 0: return "UPDATE parent SET note = \(value) WHERE id = \(parent)"
        case 1: return "UPDATE setting SET more = \(value) WHERE name = 's\(below(3))'"
        case 2: return "INSERT OR REPLACE INTO tag VALUES ('g\(below(3))', \(value))"
        case 3: return "DELETE FROM tag WHERE name = 'g\(below(3))'"
        case 4, 5:
            return """
                INSERT INTO securestorage_kv_1 VALUES (\(key), 1, \(value), \(chance(40) ? "1" : "NULL"))
                ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires = excluded.expires
                """
        case 6: return "DELETE FROM securestorage_kv_1 WHERE key = \(key)"
        // A read removes what has expired.
        default: return "DELETE FROM securestorage_kv_1 WHERE key = \(key) AND expires < 2"
        }
    }
}
