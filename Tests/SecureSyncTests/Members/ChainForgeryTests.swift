import Crypto
import Foundation
import SecureKeys
import TestSupport
import Testing

@testable import SecureSync

/// What somebody tries who can write into the store.
struct ChainForgeryTests {
    /// The state after all objects, which are taken as a member takes them from a store.
    private func followed(_ objects: [Data]) throws -> MembershipState {
        var state = MembershipState()
        for bytes in objects { try state.follow(bytes) }
        return state
    }

    private func longChain() throws -> TestChain {
        var chain = try TestChain()
        let (phone, once) = (try chain.add(), try chain.add(.invitation))
        let copy = MemberKeys.random()
        try chain.append(.add(try TestChain.record(.random()), TestChain.adminsOwn), by: once)
        try chain.append(
            .fork(
                try TestChain.record(copy), TestChain.adminsOwn, after: TestChain.position(phone.id)
            ),
            by: phone)
        try chain.append(.rotate(chain.epoch()), by: phone)
        try chain.append(.leave(TestChain.position(copy.id)), by: copy)
        try chain.append(
            .remove([TestChain.position(phone.id)], chain.epoch(without: [phone.id])),
            by: chain.founder
        )
        // Something that every one of the entries before is followed by.
        try chain.append(.rotate(chain.epoch()), by: chain.founder)
        return chain
    }

    @Test func `a flipped byte anywhere is invalid, and noticed with the next entry`() throws {
        let chain = try longChain()
        var count = 0
        for place in chain.objects.indices.dropLast() {
            let before = try followed(Array(chain.objects[..<place]))
            for index in chain.objects[place].indices {
                var bytes = chain.objects[place]
                bytes[index] ^= 1 << UInt8.random(in: 0..<8)
                count += 1
                guard place > 0 else {
                    var state = before
                    #expect(throws: (any Error).self) { try state.follow(bytes) }
                    continue
                }
                var state = before
                try state.follow(bytes)
                check(state.invalid, equals: [UInt64(place) + 1], "entry \(place), byte \(index)")
                check(state.active, equals: before.active)
                check(state.epoch, equals: before.epoch)
            }
            // The rest of the chain was made after other bytes.
            guard place > 0 else { continue }
            var objects = chain.objects
            objects[place][0] ^= 1
            #expect(throws: MembershipState.Refusal.self, "entry \(place)") {
                try followed(objects)
            }
        }
        check(count > 1500)
    }

    @Test func `cut and lengthened entries are invalid`() throws {
        let chain = try longChain()
        for place in chain.objects.indices.dropFirst() {
            let before = try followed(Array(chain.objects[..<place]))
            let bytes = chain.objects[place]
            let wrong =
                (0..<bytes.count).map { bytes.prefix($0) } + [bytes + [0], [0] + bytes]
            for bytes in wrong {
                var state = before
                try state.follow(Data(bytes))
                check(state.invalid.count, equals: 1)
                check(state.active, equals: before.active)
            }
        }
    }

    @Test func `garbage and replayed entries do not stop a chain`() throws {
        var chain = try longChain()
        let other = try longChain()
        let garbage =
            [Data(), Data(count: 200), Data(repeating: 0xff, count: 64)] + chain.objects
            + other.objects
        let before = chain.state
        for bytes in garbage { try chain.state.follow(bytes) }
        check(chain.state.active, equals: before.active)
        check(chain.state.invalid.count, equals: garbage.count)
        try chain.append(.rotate(chain.epoch()), by: chain.founder)
        check(chain.state.epoch, equals: before.epoch + 1)
    }

    @Test func `what a removed member signs is invalid`() throws {
        var chain = try TestChain()
        let phone = try chain.add()
        try chain.append(
            .remove([TestChain.position(phone.id)], chain.epoch(without: [phone.id])),
            by: chain.founder
        )
        let before = chain.state
        try chain.state.follow(
            try chain.bytes(.add(try TestChain.record(.random()), TestChain.adminsOwn), by: phone))
        check(chain.state.active, equals: before.active)
        check(chain.state.invalid, equals: [4])
    }

    @Test func `what breaks a rule is invalid, whoever signs it`() throws {
        var chain = try TestChain()
        let writer = try chain.add(.device, .writer)
        let (before, entry) = (
            chain.state, chain.entry(.rotate(chain.epoch(number: 9)), by: writer.id)
        )
        try chain.state.follow(try entry.signed(by: writer))
        check(chain.state.invalid, equals: [3])
        check(chain.state.epoch, equals: before.epoch)
        // An action that this version does not know, signed well.
        var content = chain.entry(.rotate(chain.epoch()), by: writer.id).content()
        let index = try require(content.firstRange(of: writer.id.bytes)?.upperBound)
        content[index] = 23
        let signature = try writer.signature(of: ChainEntry.message(content))
        try chain.state.follow(content + signature)
        check(chain.state.invalid, equals: [3, 4])
    }

    @Test func `an entry of a member after another chain shows that the store lies`() throws {
        var chain = try TestChain()
        let phone = try chain.add()
        let hidden = try chain.bytes(.rotate(chain.epoch()), by: phone)
        var other = chain
        try other.append(.rotate(chain.epoch()), by: chain.founder)
        try chain.append(hidden)
        let next = try chain.bytes(.rotate(chain.epoch()), by: phone)
        #expect(throws: MembershipState.Refusal("it follows another chain")) {
            try other.state.follow(next)
        }
    }

    @Test func `an entry of a newer format stops the chain only if a member has signed it`() throws
    {
        let chain = try TestChain()
        var content = chain.entry(.rotate(chain.epoch()), by: chain.founder.id).content()
        content[1] = 2
        let stranger = try MemberKeys.random().signature(of: ChainEntry.message(content))
        var state = chain.state
        try state.follow(content + stranger)
        check(state.invalid, equals: [2])
        let signature = try chain.founder.signature(of: ChainEntry.message(content))
        state = chain.state
        #expect(throws: NewerFormat.self) { try state.follow(content + signature) }
        check(state, equals: chain.state)
    }

    @Test func `a forged first entry is not a group`() throws {
        let chain = try TestChain()
        var state = MembershipState()
        #expect(throws: (any Error).self) { try state.follow(Data(count: 32)) }
        #expect(throws: (any Error).self) { try state.follow(Data()) }
        check(state.count, equals: 0)
        try state.follow(chain.objects[0])
        check(state.count, equals: 1)
    }
}
