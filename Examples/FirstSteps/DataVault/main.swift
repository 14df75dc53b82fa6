import Foundation
import Vaults

// A token behind a password: each run asks for the password, the first one creates the vault.
//
//     swift run --package-path Examples FirstDataVault DIRECTORY

let directory = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? "vaults")
do {
    let container = try DataVaultContainer(directory: directory)
    print("Password:")
    let password = readLine() ?? ""
    if try container.exists(id: "main") {
        let vault = try container.vault(id: "main")
        try vault.unlock(password: password)
        print("The token is \(try vault.getString("token") ?? "not set").")
        vault.lock()
    } else {
        var policy = DataVaultPasswordPolicy()
        policy.defaultPasswordAllowed = false
        policy.retryLimit = 10
        let vault = try container.create(id: "main", password: password, policy: policy)
        try vault.setString("token", value: "abc-123")
        print("The vault was created.")
    }
} catch {
    print(error)
    exit(1)
}
