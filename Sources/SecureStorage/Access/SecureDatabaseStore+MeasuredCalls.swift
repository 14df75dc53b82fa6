/// The part of a measured call that has the connection.
extension SecureDatabaseStore {
    /// Runs `block` as a call, in the context of the call's span.
    func run<T>(
        _ call: MeasuredCall, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        beginRunning(call)
        defer { endRunning(call) }
        return try call.inContext { try block(self) }
    }

    /// Lets the statements that follow count as those of `call`.
    func beginRunning(_ call: MeasuredCall) {
        call.beginRunning()
        session.activity.call = call
    }

    func endRunning(_ call: MeasuredCall) {
        session.activity.call = nil
        call.endRunning()
    }
}
