import Testing

/// What a storm goes over: something with public calls, and what is known to be in its file.
protocol StormedWorld: AnyObject, Sendable {
    /// All that `call` knows.
    static var callNames: [String] { get }

    /// - Parameter storm: Its name, for reports.
    /// - Throws: When its file cannot be made.
    init(storm: String) throws

    /// Names the calls that come now.
    func begin(_ storm: String)

    /// The call of a name; `names` are those made at the same time, where they are known.
    func call(_ name: String, beside names: [String]?) -> Storm.Call

    /// Nothing runs: it works, and holds what was stored.
    func settle() throws

    /// Closes it, and looks at what it leaves.
    func end() throws
}

extension StormedWorld {
    /// Makes a call beside itself and each that follows it in the alphabet.
    static func blowPairs(of name: String) async throws {
        try await Storm.apart {
            let world = try Self(storm: name)
            for other in callNames where other >= name {
                guard try world.blow(name, other, rounds: Storm.rounds) else { return }
            }
            try world.end()
        }
    }

    /// - Returns: False when a call did not end, which is reported.
    func blow(_ one: String, _ other: String, rounds: Int) throws -> Bool {
        begin("\(one) beside \(other)")
        let calls = [one, other].map { call($0, beside: [one, other]) }
        return try Storm.blow(calls, rounds: rounds, settle: settle)
    }

    /// Lets threads make calls of their own choice.
    static func mix(threads: Int) async throws {
        try await Storm.apart {
            let seed = UInt64.random(in: 0...UInt64.max)
            let world = try Self(storm: "mix of \(threads) threads, seed \(seed)")
            let calls = callNames.map { world.call($0, beside: nil) }
            let made = Storm.mix(calls, threads: threads, for: Storm.duration, seed: seed)
            guard let made else { return }
            print("\(made) calls of \(threads) threads")
            try world.settle()
            try world.end()
        }
    }
}
