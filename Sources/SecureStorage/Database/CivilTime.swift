/// A date and a time of day in UTC, by the Gregorian calendar for all years, as SQLite's date
/// functions have it; Foundation's calendars are Julian before 1582.
struct CivilTime {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int

    /// - Parameter seconds: Since 1970.
    init(seconds: Int) {
        let (days, time) = (seconds.dividedDown(by: 86_400), seconds.remainder(by: 86_400))
        (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60)
        // Years from March, so that a leap day is the last one, in eras of 400.
        let day = days + 719_468
        let era = day.dividedDown(by: 146_097)
        let dayOfEra = day.remainder(by: 146_097)
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// nil for a day that does not exist, such as 30 February, or a time of day.
    init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
        guard (1...12).contains(month), (0..<24).contains(hour), (0..<60).contains(minute),
            (0..<60).contains(second)
        else { return nil }
        let back = CivilTime(seconds: seconds)
        guard back.month == month, back.day == day else { return nil }
    }

    /// Since 1970.
    var seconds: Int {
        let year = month <= 2 ? year - 1 : year
        let era = year.dividedDown(by: 400)
        let yearOfEra = year.remainder(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }
}

extension Int {
    fileprivate func dividedDown(by divisor: Int) -> Int {
        (self - remainder(by: divisor)) / divisor
    }

    /// Never negative.
    fileprivate func remainder(by divisor: Int) -> Int {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
