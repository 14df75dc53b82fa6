import Foundation
import SecureStorage
import SecureSync
import TestSupport

/// Devices that write, meet, lose answers, die, are copied, join and go, as a seed says.
struct SimulatedGroup {
    let objects = SimulatedObjects()
    var random: SplitMix64
    var devices: [SimulatedDevice] = []
    /// What has happened in it.
    var seen: Set<Event> = []
    /// The names of devices that may be removed without knowing it: of which there are copies, or
    /// whose removal had no answer.
    var mayBeGone: Set<String> = []
    var log: [String] = []
    /// Files as they were, by the names of their devices.
    private var backups: [String: TemporaryDatabase] = [:]
    private var count = 0
    /// Rows that nobody changes after their insertion, which was acknowledged: they must be there
    /// in the end.
    var entries: [String: Entry] = [:]
    /// Whether what ``edge(_:)`` does happens too.
    var hasEdges = false
    /// Whether devices join as writers and readers too, not as admins only.
    var hasRoles = false
    /// Of each number of the story, the one over which it was written.
    var before: [Int64] = []
    /// What devices showed before a sync that has not come to its end.
    var shown: [String: Int64] = [:]
    /// Whether something was taken back: what a removed member has written, or the store.
    var mayGoBack = false
    /// The store as it was, and the names of its devices.
    private var oldStore: (objects: [String: Data], devices: Set<String>)?

    struct Entry {
        var device: String
        /// Otherwise it is lost with the device's file.
        var isSynced = false
    }

    enum Event: CaseIterable {
        case snapshot, load, fork, stablePoint, heldBack, conflict, anew, putBack, later
    }

    struct Broken: Error, CustomStringConvertible {
        var description: String
    }

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }
    mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    mutating func newDevice() throws -> SimulatedDevice {
        let year: Int64 = 365 * 24 * 3_600_000
        let offsets: [Int64] = [0, 0, 0, -year, year, 5000, -5000]
        let device = try SimulatedDevice(
            "d\(count)", objects, version: chance(50) ? .first : .second,
            clockOffset: offsets[below(offsets.count)])
        count += 1
        return device
    }

    /// Runs that many steps, then heals everything and compares.
    mutating func run(steps: Int) async throws {
        let first = try newDevice()
        if chance(50) { try write(first) }
        try await first.engine.createGroup(deviceName: first.name)
        devices = [first]
        for _ in 0..<(1 + below(3)) { try await join() }
        for _ in 0..<steps { try await step() }
        try await heal()
    }

    private mutating func step() async throws {
        let device = devices[below(devices.count)]
        if hasEdges, chance(25) {
            try await edge(device)
        } else {
            try await usualStep(device)
        }
        for device in devices {
            if device.version == .first, try device.hasLater() { seen.insert(.later) }
            if let broken = try device.brokenPromise() {
                throw Broken(description: "\(device.name): \(broken)")
            }
        }
    }

    private mutating func usualStep(_ device: SimulatedDevice) async throws {
        switch below(100) {
        case 0..<52: try write(device)
        case 52..<78: try await sync(device)
        case 78..<86:
            let calls = below(25)
            device.store.setFaults { $0.callsUntilKill = calls }
            log.append("\(device.name): dies after \(calls) calls")
            try await sync(device)
        case 86..<90:
            let isOffline = chance(60)
            device.store.setFaults { $0.isOffline = isOffline }
            log.append("\(device.name): offline \(isOffline)")
        case 90..<92:
            let failures = UInt64(below(20))
            let seed = random.next()
            device.store.setFaults { ($0.failures, $0.random) = (failures, SplitMix64(seed: seed)) }
        case 92: try await copy(device)
        case 93: try await restore(device)
        case 94..<96: if devices.count < 6 { try await join() }
        case 96: try await remove()
        case 97: try await rotate(device)
        case 98: try await beginAnew(device)
        default:
            if device.version == .first, chance(60) {
                log.append("\(device.name): has the second version")
                try device.upgrade()
            } else {
                try device.killAndReopen()
            }
        }
    }

    mutating func note(_ report: SyncReport) {
        if report.hasWrittenSnapshot { seen.insert(.snapshot) }
        if report.hasLoadedSnapshot { seen.insert(.load) }
        if report.hasForked { seen.insert(.fork) }
    }

    // MARK: - Steps

    mutating func sync(_ device: SimulatedDevice) async throws {
        try await watching(device) { try await $0.syncOnce(device) }
    }

    /// - Returns: Whether it came to its end.
    private mutating func syncOnce(_ device: SimulatedDevice) async throws -> Bool {
        do {
            let report = try await device.engine.syncOnce()
            device.hasForeignWrites = false
            log.append("\(device.name): \(report)")
            note(report)
            noteSynced(device)
            return true
        } catch is SimulatedStore.Killed {
            try device.killAndReopen()
        } catch let error as SyncError where error.isTransient {
            log.append("\(device.name): \(error)")
        } catch SyncError.unsuitableTable(_, let reason) where hasEdges {
            // A row that cannot travel keeps the file from being replaced.
            log.append("\(device.name): \(reason)")
        } catch let error as SyncError where hasEdges && error.mayPassInSimulation {
            log.append("\(device.name): \(error)")
        } catch SyncError.keysReplaced where isPerhapsGone(device) {
            // Its other copy has replaced them before this one was a member of its own.
            try await joinAgain(device)
        } catch SyncError.notAMember where isPerhapsGone(device) {
            // Its other copy was removed before this one was a member of its own.
            log.append("\(device.name): is removed")
            drop(device)
        }
        return false
    }

    /// Lets a copy join whose keys its other copy has replaced, as a person would.
    mutating func joinAgain(_ device: SimulatedDevice) async throws {
        let others = devices.filter { $0 !== device }
        // Without a device that has the group's keys the group is lost.
        guard !others.isEmpty else { return drop(device) }
        let admins = others.filter { $0.role == .admin }
        guard !admins.isEmpty else { return drop(device) }
        let host = admins[below(admins.count)]
        do {
            let code = try await host.engine.invite(.once, role: device.role)
            try await device.engine.join(
                code, deviceName: device.name,
                localRows: device.role == .reader ? .discard : .keep)
            log.append("\(device.name): joins again")
        } catch is SimulatedStore.Killed {
            for device in [host, device] { try device.killAndReopen() }
        } catch let error as SyncError where error == .keysReplaced || mayFail(error) {
            log.append("\(device.name): joins not again: \(error)")
        }
    }

    private mutating func noteSynced(_ device: SimulatedDevice) {
        for (entry, value) in entries where value.device == device.name {
            entries[entry]?.isSynced = true
        }
    }

    /// A device, or what its file has that was not sent, is gone.
    mutating func drop(_ device: SimulatedDevice, isGone: Bool = true) {
        if isGone { devices.removeAll { $0 === device } }
        entries = entries.filter { $0.value.isSynced || $0.value.device != device.name }
    }

    func isPerhapsGone(_ device: SimulatedDevice) -> Bool {
        !device.isOriginal || mayBeGone.contains(device.name)
    }

    mutating func copy(_ device: SimulatedDevice) async throws {
        guard devices.count < 6 else { return }
        let copy = try SimulatedDevice(copyOf: device, "d\(count)")
        try noteCopy(of: device)
        count += 1
        mayBeGone.insert(device.name)
        log.append("\(copy.name): a copy of \(device.name)")
        devices.append(copy)
    }

    /// Puts a device's file back to an older state, or keeps one for that.
    private mutating func restore(_ device: SimulatedDevice) async throws {
        guard let backup = backups.removeValue(forKey: device.name) else {
            backups[device.name] = try device.database.copiedFiles()
            try noteCopy(of: device)
            return
        }
        log.append("\(device.name): is restored")
        mayBeGone.insert(device.name)
        try device.restore(backup)
        shown[device.name] = nil
        drop(device, isGone: false)
    }

    /// Resets a group, with a store as it is, or as it once was.
    private mutating func beginAnew(_ device: SimulatedDevice) async throws {
        // A device that joined since cannot show members of that time who it is.
        guard let old = oldStore, old.devices.contains(device.name), device.role == .admin,
            chance(60)
        else {
            oldStore = (objects.all, Set(devices.map(\.name)))
            do {
                try await device.engine.reset()
                log.append("\(device.name): resets")
                noteSynced(device)
                seen.insert(.anew)
            } catch is SimulatedStore.Killed {
                try device.killAndReopen()
            } catch let error as SyncError where error.isTransient {
                log.append("\(device.name): \(error)")
            } catch SyncError.keysReplaced where isPerhapsGone(device) {
                log.append("\(device.name): its keys were replaced")
            } catch SyncError.notAMember where isPerhapsGone(device) {
                drop(device)
            } catch SyncError.notAllowed(let reason) {
                log.append("\(device.name): \(reason)")
            } catch SyncError.unsuitableTable(_, let reason) where hasEdges {
                log.append("\(device.name): \(reason)")
            } catch let error as SyncError where hasEdges && error.mayPassInSimulation {
                log.append("\(device.name): \(error)")
            }
            return
        }
        device.store.setFaults {
            ($0.failures, $0.callsUntilKill, $0.isOffline, $0.isVanished) = (0, nil, false, false)
        }
        try mendUntold(device)
        try await sync(device)
        guard devices.contains(where: { $0 === device }) else { return }
        objects.putBack(old.objects)
        mayGoBack = true
        // Put back twice to one state, the store would know nothing of the group between: what
        // made it is not known to a member that was away all the time.
        oldStore = nil
        // What was in the store only is gone: its writers have older files now.
        let files = Set(try devices.flatMap { try $0.rows() })
        entries = entries.filter { entry in files.contains { $0.contains("'\(entry.key)'") } }
        log.append("\(device.name): resets with an older store")
        try await device.engine.reset()
        seen.insert(.putBack)
    }

    mutating func join() async throws {
        let device = try newDevice()
        let host = devices[below(devices.count)]
        if hasRoles { device.role = SyncMember.Role.allCases[below(3)] }
        let keeps = chance(50) && device.role != .reader
        if keeps { for _ in 0..<3 { try write(device) } }
        do {
            let invitation = try await host.engine.invite(.once, role: device.role)
            try await device.engine.join(
                invitation, deviceName: device.name, localRows: keeps ? .keep : .discard)
            devices.append(device)
            log.append("\(device.name): joins as \(device.role), keeps \(keeps)")
            return
        } catch is SimulatedStore.Killed {
            try host.killAndReopen()
        } catch let error as SyncError where mayFail(error) {
            log.append("\(host.name): \(error)")
        }
        drop(device)
    }

    private mutating func remove() async throws {
        guard devices.count > 2 else { return }
        let index = below(devices.count)
        let device = devices[index]
        let host = devices[(index + 1) % devices.count]
        do {
            let members = try await host.engine.members()
            guard let own = try await device.engine.members().first(where: \.isThisDevice),
                let member = members.first(where: { $0.id == own.id }), !member.isThisDevice
            else { return }
            // It may be gone although the answer is lost.
            mayBeGone.insert(device.name)
            mayGoBack = true
            try await host.engine.remove(member)
            log.append("\(device.name): removed by \(host.name)")
            drop(device)
        } catch is SimulatedStore.Killed {
            try host.killAndReopen()
        } catch let error as SyncError where mayFail(error) {
            log.append("\(host.name): \(error)")
        }
    }

    /// Whether a change of the group may fail so.
    private func mayFail(_ error: SyncError) -> Bool {
        if hasEdges, case .unsuitableTable = error { return true }
        if hasRoles, case .notAllowed = error { return true }
        return error.isTransient || error == .notAMember || error == .keysReplaced
            || hasEdges && error.mayPassInSimulation
    }

    private mutating func rotate(_ device: SimulatedDevice) async throws {
        do {
            try await device.engine.rotateKey()
            log.append("\(device.name): rotates")
        } catch is SimulatedStore.Killed {
            try device.killAndReopen()
        } catch let error as SyncError where mayFail(error) {
            log.append("\(device.name): \(error)")
        }
    }
}
