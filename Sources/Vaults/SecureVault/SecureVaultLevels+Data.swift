public import Foundation
internal import SecureStorage

// Passwords as `Data`, as the reference's code has them.

extension SecureVaultLevels {
    /// Unlocks L2.
    ///
    /// - Parameter password: The user's password; the caller remains responsible for clearing it.
    /// - Throws: As `authWith(password:)` with `SecretBytes`.
    public func authWith(password: Data) throws {
        try authWith(password: SecretBytes(copying: password))
    }

    /// Changes the password.
    ///
    /// - Parameters:
    ///   - oldPassword: The current password, or nil when the user has not set one yet.
    ///   - newPassword: At least one byte.
    /// - Throws: As `resetL2Password(oldPassword:newPassword:)` with `SecretBytes`.
    public func resetL2Password(oldPassword: Data?, newPassword: Data) throws {
        try resetL2Password(
            oldPassword: oldPassword.map { SecretBytes(copying: $0) },
            newPassword: SecretBytes(copying: newPassword))
    }
}
