/// A store that can describe its location.
package protocol PlacedStore {
    /// For messages.
    var place: String { get }
}

extension SyncError {
    /// The error for a store without any of a group's objects, which has more likely been replaced
    /// than emptied.
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
