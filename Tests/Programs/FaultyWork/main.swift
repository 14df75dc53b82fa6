import Foundation

// Runs workloads whose k-th call on a file fails, for each k. A process in which no call fails then
// checks for each run that nothing was lost, that each error was true, and that the next call
// recovers from what was left.
//
//     FaultyWork campaign LIBRARY STRIDE [WORKLOAD…]     all of it; STRIDE 1 tries each call
//     FaultyWork run …, FaultyWork check …               its children
let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "run":
    try FaultyRun(arguments).run()
case "check":
    try FaultyCheck(directory: arguments[1], workload: arguments[2]).run()
case "campaign":
    let campaign = Campaign(
        library: arguments[1], stride: max(Int(arguments[2]) ?? 1, 1),
        names: Array(arguments.dropFirst(3)))
    exit(try campaign.run() ? 0 : 1)
case "list":
    for workload in Workload.all { print(workload.name) }
default:
    exit(2)
}
