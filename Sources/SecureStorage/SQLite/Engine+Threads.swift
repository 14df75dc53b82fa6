internal import CSQLCipher

extension Engine {
    static var isThreadSafe: Bool { sqlite3_threadsafe() != 0 }
}
