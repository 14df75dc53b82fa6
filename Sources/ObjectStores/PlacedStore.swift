/// A store that can describe its location.
package protocol PlacedStore {
    /// For messages.
    var place: String { get }
}
