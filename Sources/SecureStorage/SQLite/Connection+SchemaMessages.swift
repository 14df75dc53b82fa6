internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Returns whether a message consists of the schema's words alone, and so cannot hold a value.
    ///
    /// That holds for violated constraints, and for the text of a trigger's RAISE as written in the
    /// trigger. From SQLite 3.47 on RAISE accepts any expression, with values in it: such a text is
    /// not found in the schema.
    func isOfSchema(_ message: String, _ code: ResultCode) -> Bool {
        switch code.rawValue {
        case 275: message.hasPrefix("CHECK constraint failed: ")
        case 787: message == "FOREIGN KEY constraint failed"
        case 1299: message.hasPrefix("NOT NULL constraint failed: ")
        case 1555, 2067, 2579: message.hasPrefix("UNIQUE constraint failed: ")
        case 1811: isTextOfTrigger(message)
        default: false
        }
    }

    /// Returns whether some trigger, of any database of this connection, has this text as a
    /// literal.
    private func isTextOfTrigger(_ text: String) -> Bool {
        guard let handle else { return false }
        // The failed statement is not given back yet, and these queries are not the app's.
        let wasPaused = recorder?.isPaused ?? false
        recorder?.isPaused = true
        defer { recorder?.isPaused = wasPaused }
        let literals = ["'", "\""].map {
            $0 + text.replacingOccurrences(of: $0, with: $0 + $0) + $0
        }
        var index: Int32 = 0
        while let name = sqlite3_db_name(handle, index) {
            index += 1
            let schema = SQLText.identifier(String(cString: name)) + ".sqlite_schema"
            let sql =
                "SELECT 1 FROM \(schema) WHERE type = 'trigger' AND (instr(sql, ?) OR instr(sql, ?))"
            guard let query = try? Statement(sql, on: self, persistent: false) else { continue }
            defer { query.giveBack() }
            if (try? query.bind(literals)) != nil, (try? query.step()) == true { return true }
        }
        return false
    }
}
