/// A name in a ``DataVault``, and the type of its value.
public struct DataVaultDataName: Sendable, Equatable, Hashable {
    /// The name.
    public let name: String

    /// The type that the value was last set as.
    public let type: DataVaultDataType

    /// Creates a name with a type.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - type: The type of its value.
    public init(name: String, type: DataVaultDataType) {
        self.name = name
        self.type = type
    }
}

/// The type of a value in a ``DataVault``.
public enum DataVaultDataType: Sendable, Equatable, Hashable, CaseIterable {
    /// Neither of the others; this library never stores such a value.
    case unknown
    /// A string.
    case string
    /// Data.
    case binary
}

/// The original's name for a data name.
public typealias DVDataName = DataVaultDataName
