import SecureSync

extension SimulatedGroup {
    /// Lets devices join, and files be copied, while others and they themselves write and die:
    /// most steps fall between a device's entry and the beginning of its log.
    mutating func runBeginnings(_ count: Int) async throws {
        let first = try newDevice()
        for _ in 0..<2 { try write(first) }
        try await first.engine.createGroup(deviceName: first.name)
        devices = [first]
        for _ in 0..<count {
            let host = devices[below(devices.count)]
            if chance(60) {
                try await join()
            } else {
                try await copy(host)
                // What it continues with makes the copy a member of its own.
                try write(host)
                try await sync(host)
            }
            guard let last = devices.last, last !== host else { continue }
            for _ in 0..<8 where devices.contains(where: { $0 === last }) {
                for other in devices where other !== last {
                    if chance(50) { try write(other) }
                    if chance(40) { try await sync(other) }
                }
                if chance(80) { try write(last) }
                let calls = below(25)
                last.store.setFaults { $0.callsUntilKill = calls }
                log.append("\(last.name): dies after \(calls) calls")
                try await sync(last)
            }
        }
        try await heal()
    }
}
