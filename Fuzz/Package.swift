// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that users of the library never build it. Scripts/fuzz builds it: the
// sanitizers and libFuzzer come with flags for all modules, which a manifest cannot give to the
// library's.
let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "SecureStorage", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
    ],
    targets: [
        .systemLibrary(name: "FuzzerDriver"),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "FuzzerDriver",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SecureKeys", package: "SecureStorage"),
                .product(name: "SecureStorage", package: "SecureStorage"),
                .product(name: "SecureSync", package: "SecureStorage"),
                .product(name: "S3Store", package: "SecureStorage"),
                .product(name: "Vaults", package: "SecureStorage"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
