public import Foundation
internal import SecureKeys
internal import ObjectStores

extension S3Credentials {
    /// What finds credentials in the usual places, in AWS's order.
    ///
    /// First ``fromEnvironment(_:)``, then ``fromFiles(profile:environment:)``. Other sources of
    /// AWS's tools (single sign-on, `credential_process`, roles of containers and machines) are not
    /// asked: pass a closure that asks them.
    ///
    /// - Throws: ``/ObjectStores/StoreError/failed(code:message:isTransient:)`` with the code
    ///   `NoCredentials` if
    ///   there are none; the message says what to do.
    public static var `default`: @Sendable () async throws -> S3Credentials {
        { try find(ProcessInfo.processInfo.environment) }
    }

    static func find(_ environment: [String: String]) throws -> S3Credentials {
        if let found = try fromEnvironment(environment) { return found }
        if let found = try fromFiles(environment: environment) { return found }
        throw failure(
            "there are no S3 credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or put "
                + "aws_access_key_id and aws_secret_access_key into the section "
                + "[\(profile(environment))] of \(path(environment))")
    }

    /// Returns the credentials in the environment.
    ///
    /// These are `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, if they are temporary,
    /// `AWS_SESSION_TOKEN`.
    ///
    /// - Parameter environment: The variables.
    /// - Returns: nil if `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` are both missing or empty.
    /// - Throws: ``/ObjectStores/StoreError/failed(code:message:isTransient:)`` if only one of them is
    ///   set.
    public static func fromEnvironment(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> S3Credentials? {
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        let id = value("AWS_ACCESS_KEY_ID")
        let secret = value("AWS_SECRET_ACCESS_KEY")
        guard let id, let secret else {
            guard id == nil, secret == nil else {
                throw failure(
                    "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both")
            }
            return nil
        }
        return S3Credentials(
            accessKeyID: id, secretAccessKey: SecretBytes(utf8: secret),
            sessionToken: value("AWS_SESSION_TOKEN").map { SecretBytes(utf8: $0) })
    }

    /// Returns the credentials of a profile in AWS's shared files.
    ///
    /// The first is `AWS_SHARED_CREDENTIALS_FILE` or `~/.aws/credentials`, the second
    /// `AWS_CONFIG_FILE` or `~/.aws/config`.
    ///
    /// - Parameters:
    ///   - profile: The name of the profile; nil: `AWS_PROFILE`, or else `default`.
    ///   - environment: The variables.
    /// - Returns: nil if no file has an access key for the profile.
    /// - Throws: ``/ObjectStores/StoreError/failed(code:message:isTransient:)`` if a file cannot be read,
    ///   or a
    ///   profile has only half of a key.
    public static func fromFiles(
        profile: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> S3Credentials? {
        let name = profile ?? Self.profile(environment)
        for (path, sections) in [
            (path(environment), [name]),
            (
                path(environment, "AWS_CONFIG_FILE", "config"),
                name == "default" ? [name, "profile default"] : ["profile \(name)"]
            ),
        ] {
            guard let text = try contents(path) else { continue }
            let values = AWSProfileFile.values(
                text, sections: sections,
                ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"])
            let id = values["aws_access_key_id"]
            let secret = values["aws_secret_access_key"]
            guard id != nil || secret != nil else { continue }
            guard let id, let secret else {
                throw failure(
                    "the section [\(sections[0])] of \(path) needs both aws_access_key_id and "
                        + "aws_secret_access_key")
            }
            return S3Credentials(
                accessKeyID: id.withUnsafeBytes { String(decoding: $0, as: UTF8.self) },
                secretAccessKey: secret, sessionToken: values["aws_session_token"])
        }
        return nil
    }

    private static func profile(_ environment: [String: String]) -> String {
        environment["AWS_PROFILE"].flatMap { $0.isEmpty ? nil : $0 } ?? "default"
    }

    private static func path(
        _ environment: [String: String], _ variable: String = "AWS_SHARED_CREDENTIALS_FILE",
        _ file: String = "credentials"
    ) -> String {
        let home = environment["HOME"] ?? NSHomeDirectory()
        guard let path = environment[variable], !path.isEmpty else { return "\(home)/.aws/\(file)" }
        return path.hasPrefix("~/") ? home + path.dropFirst() : path
    }

    private static func contents(_ path: String) throws -> SecretBytes? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard var data = FileManager.default.contents(atPath: path) else {
            throw failure("\(path) cannot be read; check its owner and rights")
        }
        return SecretBytes(erasing: &data)
    }

    private static func failure(_ message: String) -> StoreError {
        .failed(code: "NoCredentials", message: message, isTransient: false)
    }
}
