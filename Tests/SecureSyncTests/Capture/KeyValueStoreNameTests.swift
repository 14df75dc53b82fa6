import TestSupport
import Testing

@testable import SecureSync

/// Names under which key-value stores travel.
struct KeyValueStoreNameTests {
    // The bytes on both sides of each range, and those that have one digit.
    @Test(arguments: [
        ("", ""), ("settings-1.b_c", "settings-1.b_c"), ("az", "az"), ("`{", "%60%7b"),
        ("09", "09"), ("/:", "%2f%3a"), ("AZ", "%41%5a"), ("+,", "%2b%2c"), ("%", "%25"),
        ("\u{1}\u{f}\u{10}", "%01%0f%10"), ("\u{e4}", "%c3%a4"),
    ])
    func `other bytes than small letters, digits and three signs are two digits`(
        _ store: String, _ written: String
    ) {
        let table = "securestorage_kv/" + written
        check(KeyValueStoreName.table(ofStore: store), equals: table)
        check(KeyValueStoreName.store(ofTable: table), equals: store)
        check(KeyValueStoreName.title(ofTable: table), equals: "key-value store \"\(store)\"")
    }

    @Test func `a table of the app, and a name that cannot be read, are not a store`() {
        for table in ["note", "securestorage_kv", "securestorage_kv/%", "securestorage_kv/%zz"] {
            check(KeyValueStoreName.store(ofTable: table) == nil, "\(table)")
            check(KeyValueStoreName.title(ofTable: table), equals: table)
        }
        // No UTF-8.
        check(KeyValueStoreName.store(ofTable: "securestorage_kv/%ff") == nil)
    }
}
