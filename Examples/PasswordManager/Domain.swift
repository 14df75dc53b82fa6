import Foundation

/// The domain that an account belongs to.
enum Domain {
    /// Returns the host of an address as people and browsers write it, in lower case: for
    /// `https://Mail.example.com/login` it is `mail.example.com`.
    static func of(_ address: String) -> String? {
        let text = address.trimmingCharacters(in: .whitespaces)
        let address = text.contains("://") ? text : "https://" + text
        guard let host = URLComponents(string: address)?.host, !host.isEmpty else { return nil }
        return host.lowercased()
    }
}
