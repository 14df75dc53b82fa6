/// A store that can tell people where it is.
package protocol PlacedStore {
    /// For messages.
    var place: String { get }
}

extension SyncError {
    /// A store that shows nothing at all of a group: hardly one that has lost everything.
    static func absentGroup(in store: any SyncObjectStore) -> SyncError {
        let place = (store as? any PlacedStore)?.place ?? "the store"
        return .store(
            code: absentGroupCode,
            message:
                "\(place) shows nothing of the group: it is not mounted, or not the place that the "
                + "group uses; if it is, and was emptied, reset the group by force",
            isTransient: true)
    }

    private static let absentGroupCode = "absent"

    var isAbsentGroup: Bool {
        if case .store(code: Self.absentGroupCode, _, _) = self { return true }
        return false
    }
}
