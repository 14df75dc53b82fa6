// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that users of the library do not get its examples. Quickstart is a
// target of the library's package; Depending and NotesService are packages too.

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A product of the library's package.
func library(_ name: String) -> Target.Dependency { .product(name: name, package: "SecureStorage") }

let package = Package(
    name: "SecureStorageExamples",
    platforms: [
        .iOS(.v16), .macOS(.v13), .macCatalyst(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1),
    ],
    dependencies: [.package(name: "SecureStorage", path: "..")],
    targets: [
        .executableTarget(
            name: "Settings",
            dependencies: [library("SecureStorage")],
            path: "Settings",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "SharedNotes",
            dependencies: [library("SecureStorage"), library("SecureSync")],
            path: "SharedNotes",
            exclude: ["README.md"],
            swiftSettings: swiftSettings),
        .target(
            name: "SharedCounter",
            dependencies: [library("SecureStorage")],
            path: "SharedCounter/Common",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "CounterWriter",
            dependencies: ["SharedCounter", library("SecureStorage")],
            path: "SharedCounter/Writer",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "CounterWatcher",
            dependencies: ["SharedCounter", library("SecureStorage")],
            path: "SharedCounter/Watcher",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "FileIndex",
            dependencies: [library("SecureStorage")],
            path: "FileIndex",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "LargeFiles",
            dependencies: ["TypedPasswords", library("SecureStorage")],
            path: "LargeFiles",
            swiftSettings: swiftSettings),
        .target(
            name: "TypedPasswords",
            dependencies: [library("SecureStorage")],
            path: "TypedPasswords",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "PasswordManager",
            dependencies: ["TypedPasswords", library("SecureStorage"), library("Vaults")],
            path: "PasswordManager",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "FirstDataVault",
            dependencies: [library("Vaults")],
            path: "FirstSteps/DataVault",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "FirstSecureVault",
            dependencies: [library("SecureStorage"), library("Vaults")],
            path: "FirstSteps/SecureVault",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "FirstKeys",
            dependencies: [library("SecureKeys")],
            path: "FirstSteps/Keys",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "FirstSync",
            dependencies: [
                library("SecureKeys"), library("SecureStorage"), library("SecureSync"),
            ],
            path: "FirstSteps/Sync",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "RemoteKey",
            dependencies: [library("SecureKeys")],
            path: "RemoteKey",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "VaultPrompt",
            dependencies: ["TypedPasswords", library("SecureStorage"), library("Vaults")],
            path: "VaultPrompt",
            swiftSettings: swiftSettings),
        // The end of the tutorials in Sources/SecureStorage/SecureStorage.docc.
        .executableTarget(
            name: "Notebook",
            dependencies: [library("SecureMirror"), library("SecureStorage"), library("Vaults")],
            path: "Notebook",
            exclude: ["README.md"],
            swiftSettings: swiftSettings),
        .target(
            name: "NotebookModel",
            dependencies: [library("SecureKeys"), library("SecureStorage")],
            path: "NotebookModel",
            exclude: ["README.md"],
            swiftSettings: swiftSettings),
        // Some files of the library's Tests/Support/TestSupport, by symbolic links.
        .target(
            name: "ExampleSupport",
            dependencies: [library("SecureKeys"), library("SecureStorage")],
            path: "Tests/Support",
            swiftSettings: swiftSettings),
        .testTarget(
            name: "ExampleTests",
            dependencies: [
                "FirstDataVault", "FirstKeys", "FirstSecureVault", "FirstSync", "LargeFiles",
                "Notebook", "NotebookModel", "PasswordManager", "RemoteKey", "ExampleSupport",
                "TypedPasswords", "VaultPrompt", library("SecureKeys"), library("SecureStorage"),
                library("Vaults"), library("VaultsTestKit"),
            ],
            swiftSettings: swiftSettings),
    ],
    swiftLanguageModes: [.v6]
)
