import Foundation
import SecureStorage
import Vaults

/// Returns the server's key: nobody types it, systemd passes it to the service.
func serverKey() throws -> DatabaseKey {
    .raw(try SystemdCredentials.secret(named: "notes.key"))
}
