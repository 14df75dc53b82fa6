extension AdversaryGroup {
    /// A group, and another one, for all that change only copies of their files and objects: each
    /// takes a second to make.
    static var shared: AdversaryGroup { get async throws { try await made.value.group } }
    static var stranger: AdversaryGroup { get async throws { try await madeStranger.value.group } }

    private static let made = make("canary")
    private static let madeStranger = make("stranger")

    // @unchecked: nobody changes it.
    private struct Made: @unchecked Sendable { let group: AdversaryGroup }

    private static func make(_ mark: String) -> Task<Made, any Error> {
        Task { Made(group: try await AdversaryGroup(in: SimulatedObjects(), mark: mark)) }
    }

    /// The newest object of each kind.
    var newestOfEachKind: [String] {
        ["/m/", "/d/", "/s/", "/p/"].compactMap { kind in
            ownNames.last { $0.dropFirst(32).hasPrefix(kind) }
        }
    }
}
