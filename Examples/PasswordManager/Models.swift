import SecureStorage

/// A site and the user name for it, protected by L1.
struct WebsiteAccount: Equatable, Sendable {
    var id: Int64?
    var domain: String
    var username: String
    var title: String
}

/// An account with its password, which L2 protects.
struct WebsiteCredentials: Sendable {
    var account: WebsiteAccount
    var password: SecretBytes
}
