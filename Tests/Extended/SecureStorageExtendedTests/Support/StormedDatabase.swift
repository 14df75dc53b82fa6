import TestSupport
import Testing
@testable import SecureStorageTests

/// The subject of a storm: an object with public calls, and the known contents of its file.
protocol StormedDatabase: AnyObject, Sendable {
    /// All names that `call` accepts.
    static var callNames: [String] { get }

    /// - Parameter storm: The storm's name, for reports.
    /// - Throws: An error if the file cannot be created.
    init(storm: String) throws

    /// Sets the name of the calls that follow, for reports.
    func begin(_ storm: String)

    /// Returns the call with a name; `names` are the calls made at the same time, if known.
    func call(_ name: String, beside names: [String]?) -> Storm.Call

    /// Checks, while nothing runs, that it works and holds what was stored.
    func settle() throws

    /// Closes it and checks what it leaves behind.
    func end() throws
}

extension StormedDatabase {
    /// Makes a call beside itself and each call that follows it in the alphabet.
    static func blowPairs(of name: String) async throws {
        try await Storm.apart {
            let stormed = try Self(storm: name)
            for other in callNames where other >= name {
                guard try stormed.blow(name, other, rounds: Storm.rounds) else { return }
            }
            try Storm.within("the end of \(name)") { try stormed.end() }
        }
    }

    /// - Returns: False if a call did not end, which is reported.
    func blow(_ one: String, _ other: String, rounds: Int) throws -> Bool {
        begin("\(one) beside \(other)")
        let calls = [one, other].map { call($0, beside: [one, other]) }
        return try Storm.blow(calls, rounds: rounds, settle: settle)
    }

    /// Lets threads make random calls.
    static func mix(threads: Int) async throws {
        try await Storm.apart {
            let seed = Campaign.seed
            let stormed = try Self(storm: "mix of \(threads) threads, seed \(seed)")
            let calls = callNames.map { stormed.call($0, beside: nil) }
            let made = Storm.mix(calls, threads: threads, for: Storm.duration, seed: seed)
            guard let made else { return }
            print("\(made) calls of \(threads) threads")
            try Storm.within("what follows a mix") {
                try stormed.settle()
                try stormed.end()
            }
        }
    }
}
