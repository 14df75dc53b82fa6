import Foundation
import Hummingbird
import Logging
import NIOCore
import SecureMirror
import SecureStorage
import ServiceLifecycle
import UnixSignals

/// The parts of the service, put together.
struct NotesService: Sendable {
    struct Settings: Sendable {
        var database: URL
        var key: DatabaseKey
        var store: any ObjectStore
        var mirrorName: String
        var maximumBehind: Duration
    }

    let database: NoteDatabase
    let mirror: DatabaseMirror
    private let routes: NoteRoutes
    private let logger: Logger

    /// Restores the database if this machine does not have it, and opens it.
    ///
    /// - Parameters:
    ///   - settings: The settings.
    ///   - logger: Receives what happens.
    /// - Returns: A service that does not listen yet.
    /// - Throws: `MirrorError`; `SecureStorageError`.
    static func open(_ settings: Settings, _ logger: Logger) async throws -> NotesService {
        if !FileManager.default.fileExists(atPath: settings.database.path) {
            try await restore(settings, logger)
        }
        let database = try await NoteDatabase.open(settings.database, key: settings.key)
        do {
            return try NotesService(database, settings, logger)
        } catch {
            await database.pool.close()
            throw error
        }
    }

    private static func restore(_ settings: Settings, _ logger: Logger) async throws {
        do {
            let restored = try await DatabaseMirror.restore(
                settings.mirrorName, from: settings.store, to: settings.database, key: settings.key)
            logger.notice(
                "restored \(restored.pageCount) pages from the mirror, as of \(restored.date)")
        } catch MirrorError.noMirror {
            // Every other failure ends the program: an empty database must not take the place of
            // one that could not be reached.
            logger.notice("there is neither a database nor a mirror of it: the first start")
        }
    }

    private init(_ database: NoteDatabase, _ settings: Settings, _ logger: Logger) throws {
        let mirror = try DatabaseMirror(
            of: database.pool, in: settings.store, name: settings.mirrorName)
        let (start, limit) = (Date(), settings.maximumBehind)
        self.database = database
        self.mirror = mirror
        routes = NoteRoutes(
            database: database, mirror: mirror, metrics: Metrics(),
            health: { await Health(of: database, mirror.status, since: start, atMost: limit) })
        self.logger = logger
    }

    /// Returns the part that speaks HTTP.
    ///
    /// - Parameters:
    ///   - host: The address to listen at.
    ///   - port: The port; 0 for a free one.
    /// - Returns: The server.
    func application(
        host: String = "127.0.0.1", port: Int = 0
    ) -> some ApplicationProtocol {
        Application(
            router: routes.router(),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { [logger] channel in
                let port = channel.localAddress?.port ?? port
                logger.notice("listening at \(host):\(port)")
            },
            logger: logger)
    }

    /// Serves until SIGTERM, SIGINT or a failure.
    ///
    /// The end: no new connections; the requests that run are answered; the mirror gets what is
    /// left; the database is closed.
    ///
    /// - Parameters:
    ///   - host: The address to listen at.
    ///   - port: The port; 0 for a free one.
    /// - Throws: `MirrorError`; `SecureStorageError`; what the server throws.
    func run(host: String, port: Int) async throws {
        let group = group(
            application(host: host, port: port), signals: [UnixSignal.sigterm, .sigint])
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await group.run())
        } catch {
            outcome = .failure(error)
        }
        await database.pool.close()
        try outcome.get()
        logger.notice("ended; the mirror has everything")
    }

    /// Returns the services: the first one ends last.
    ///
    /// - Parameters:
    ///   - application: The server.
    ///   - signals: The signals that end them.
    /// - Returns: A group that does not run yet.
    func group(_ application: some ApplicationProtocol, signals: [UnixSignal]) -> ServiceGroup {
        let mirroring = MirrorService(mirror: mirror, logger: logger)
        var configuration = ServiceGroupConfiguration(
            services: [
                .init(
                    service: mirroring, failureTerminationBehavior: .gracefullyShutdownGroup,
                    serviceName: "mirror"),
                .init(
                    service: application, failureTerminationBehavior: .gracefullyShutdownGroup,
                    serviceName: "server"),
            ],
            gracefulShutdownSignals: signals, logger: logger)
        // Less than the unit's TimeoutStopSec.
        configuration.maximumGracefulShutdownDuration = .seconds(30)
        return ServiceGroup(configuration: configuration)
    }
}
