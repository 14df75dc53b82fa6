import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

struct DataVaultPrintingTests {
    @Test func `nothing prints a secret`() throws {
        let home = try VaultHome()
        let container = try home.container()
        let vault = try container.create(id: "a", password: Marker.text)
        try vault.setString("name", value: Marker.text)
        try vault.setValue("data", value: Marker.blob)
        vault.lock()
        struct Choked: Error { let value = Marker.text }
        var errors: [any Error] = [
            DataVaultError.unknown(cause: Choked()), DataVaultError.ioReadError(cause: Choked()),
            DataVaultError.doesNotExist(isSelfDestructed: true, cause: Choked()),
        ]
        for body: () throws -> Void in [
            { try vault.unlock(password: Marker.text + "x") },
            { _ = try container.create(id: "b", password: String(Marker.text.prefix(5))) },
            { _ = try vault.getString("name") },
            {
                try vault.unlock(password: Marker.text)
                _ = try vault.getString("data")
            },
        ] {
            do { try body() } catch { errors.append(error) }
        }
        check(errors.count, equals: 7)
        let things: [Any] =
            errors + [vault, container, DataVaultDestruction(id: "a", isSelfDestructed: true)]
        for thing in things {
            var dumped = ""
            dump(thing, to: &dumped)
            let texts = [
                "\(thing)", String(describing: thing), String(reflecting: thing), dumped,
                (thing as? any Error)?.localizedDescription ?? "",
            ]
            for text in texts { check(!text.contains(Marker.text), "\(type(of: thing))") }
        }
    }

    @Test func `an error of the system prints its number and the path, any other only its type`() {
        let full = NSError(
            domain: NSPOSIXErrorDomain, code: Int(ENOSPC),
            userInfo: [NSFilePathErrorKey: "/vaults/a"])
        let text = DataVaultError.ioWriteError(cause: full).description
        check(
            text,
            equals:
                "the vault cannot be written: \"/vaults/a\": No space left on device (errno 28); "
                + "free some space, then try again")
        let cocoa = CocoaError(
            .fileReadNoPermission,
            userInfo: [
                NSFilePathErrorKey: "/b", NSUnderlyingErrorKey: POSIXError(.EACCES) as NSError,
            ])
        check(
            DataVaultError.ioReadError(cause: cocoa).description,
            equals: "the vault cannot be read: \"/b\": Permission denied (errno 13)")
        let foreign = NSError(
            domain: "App", code: 1, userInfo: [NSLocalizedDescriptionKey: Marker.text])
        check(!DataVaultError.unknown(cause: foreign).description.contains(Marker.text))
    }

    @Test func `errors have the original's codes, also as NSError, and their cause`() {
        let errors: [DataVaultError] = [
            .unknown(cause: nil), .alreadyExists, .conversionError, .doesNotExist,
            .invalidArg(reason: ""), .invalidPassword(triesLeft: 1),
            .ioReadError(cause: CocoaError(.fileNoSuchFile)),
            .ioWriteError(cause: CocoaError(.fileNoSuchFile)), .locked, .nameTooLong,
            .valueTooLarge,
            .dataTypeError, .outOfMemory, .mustWait(seconds: 1), .passwordRequired,
            .passwordUnderMinLength,
            .passwordRequiresDigit, .passwordRequiresUpper, .passwordRequiresLower,
            .passwordRequiresSpecial, .passwordUnderMinUnique, .passwordExpired,
        ]
        check(errors.map(\.code), equals: Array(0...10) + [12, 13, 14] + Array(50...57))
        check(errors.map { ($0 as NSError).code }, equals: errors.map(\.code))
        check(errors.allSatisfy { ($0 as NSError).domain == "DataVaultError" })
        check(
            errors.map { $0.isPolicyViolation }, equals: errors.map { (50...57).contains($0.code) })
        check(Set(errors.map(\.description)).count, equals: errors.count)
        check((errors[6] as NSError).userInfo[NSUnderlyingErrorKey] is CocoaError)
        let thrown: any Error = DataVaultException.locked
        check((thrown as? DataVaultError)?.code, equals: 8)
    }
}
