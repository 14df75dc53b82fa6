import SecureStorage

/// Who logs in where: what L1 protects.
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
