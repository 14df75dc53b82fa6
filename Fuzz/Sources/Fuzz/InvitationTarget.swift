import Foundation

@testable import SecureSync

/// Reads an input as the code of an invitation that a user has typed or scanned.
struct InvitationTarget: FuzzTarget {
    func run(_ input: Data) throws {
        let typed = String(decoding: input, as: UTF8.self)
        let invitation: SyncInvitation
        do {
            invitation = try SyncInvitation(code: typed)
        } catch SyncError.invitationNotAccepted(let reason) {
            // The reason is the same for all, so it has nothing of the code.
            precondition(reason == "it is not a code of an invitation; compare it", "\(reason)")
            return
        }
        precondition("\(invitation)" == "<redacted>", "an invitation is printed")
        let code = invitation.code
        let shown = code.utf8.filter { $0 != UInt8(ascii: "-") }
        precondition([20, 21].contains(shown.count), "a code has \(shown.count) characters")
        // As it is shown, and as it may be typed.
        for form in [code, code.lowercased(), code.replacingOccurrences(of: "-", with: " ")] {
            let again = try SyncInvitation(code: form)
            precondition(again.code == code, "a code has two forms")
            precondition(again.secret == invitation.secret, "a code has two secrets")
        }
        let (group, previous) = (Data(count: 16), Data(repeating: 1, count: 32))
        let mac = invitation.mac(group, 2, previous)
        precondition(invitation.hasMade(mac, group, 2, previous), "its own MAC is refused")
        precondition(!invitation.hasMade(mac, group, 3, previous), "a MAC of another place counts")
        precondition(!invitation.hasMade(Data(input), group, 2, previous), "any MAC counts")
        let keys = MemberKeys(of: invitation.secret)
        precondition(keys.id != .none, "an invitation is no member")
        let isValid = try keys.publicKeys.isValid(keys.signature(of: mac), for: mac)
        precondition(isValid, "its own signature is refused")
    }
}
