//! The functions and operators that expressions may call.
//!
//! One line each: since which Kubernetes (1.x), the overload's id, and its signature. Letters are types
//! to be found out. Behaviour: cel-go `common/stdlib`, `ext`; apiserver `pkg/cel/library`, and
//! `pkg/cel/environment/base.go` for the versions.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::syntax::Env;
use super::types::{Extra, Solver, Type};

const SIGNATURES: &str = "
0 conditional _?_:_(bool, A, A) A
0 logical_and _&&_(bool, bool) bool
0 logical_or _||_(bool, bool) bool
0 logical_not !_(bool) bool
0 not_strictly_false @not_strictly_false(bool) bool
0 equals _==_(A, A) bool
0 not_equals _!=_(A, A) bool
0 add_bytes _+_(bytes, bytes) bytes
0 add_double _+_(double, double) double
0 add_duration_duration _+_(duration, duration) duration
0 add_duration_timestamp _+_(duration, timestamp) timestamp
0 add_timestamp_duration _+_(timestamp, duration) timestamp
0 add_int64 _+_(int, int) int
0 add_list _+_(list(A), list(A)) list(A)
0 add_string _+_(string, string) string
0 add_uint64 _+_(uint, uint) uint
0 divide_double _/_(double, double) double
0 divide_int64 _/_(int, int) int
0 divide_uint64 _/_(uint, uint) uint
0 modulo_int64 _%_(int, int) int
0 modulo_uint64 _%_(uint, uint) uint
0 multiply_double _*_(double, double) double
0 multiply_int64 _*_(int, int) int
0 multiply_uint64 _*_(uint, uint) uint
0 negate_double -_(double) double
0 negate_int64 -_(int) int
0 subtract_double _-_(double, double) double
0 subtract_duration_duration _-_(duration, duration) duration
0 subtract_int64 _-_(int, int) int
0 subtract_timestamp_duration _-_(timestamp, duration) timestamp
0 subtract_timestamp_timestamp _-_(timestamp, timestamp) duration
0 subtract_uint64 _-_(uint, uint) uint
0 index_list _[_](list(A), int) A
0 index_map _[_](map(A, B), A) B
28 optional_list_index_int _[_](optional(list(A)), int) optional(A)
28 optional_map_index_value _[_](optional(map(A, B)), A) optional(B)
28 list_optindex_optional_int _[?_](list(A), int) optional(A)
28 optional_list_optindex_optional_int _[?_](optional(list(A)), int) optional(A)
28 map_optindex_optional_value _[?_](map(A, B), A) optional(B)
28 optional_map_optindex_optional_value _[?_](optional(map(A, B)), A) optional(B)
0 in_list @in(A, list(A)) bool
0 in_map @in(A, map(A, B)) bool
0 size_bytes size(bytes) int
0 bytes_size bytes.size() int
0 size_list size(list(A)) int
0 list_size list(A).size() int
0 size_map size(map(A, B)) int
0 map_size map(A, B).size() int
0 size_string size(string) int
0 string_size string.size() int
0 type type(A) type
0 bool_to_bool bool(bool) bool
0 string_to_bool bool(string) bool
0 bytes_to_bytes bytes(bytes) bytes
0 string_to_bytes bytes(string) bytes
0 double_to_double double(double) double
0 int64_to_double double(int) double
0 string_to_double double(string) double
0 uint64_to_double double(uint) double
0 duration_to_duration duration(duration) duration
0 int64_to_duration duration(int) duration
0 string_to_duration duration(string) duration
0 to_dyn dyn(A) dyn
0 int64_to_int64 int(int) int
0 double_to_int64 int(double) int
0 duration_to_int64 int(duration) int
0 string_to_int64 int(string) int
0 timestamp_to_int64 int(timestamp) int
0 uint64_to_int64 int(uint) int
0 string_to_string string(string) string
0 bool_to_string string(bool) string
0 bytes_to_string string(bytes) string
0 double_to_string string(double) string
0 duration_to_string string(duration) string
0 int64_to_string string(int) string
0 timestamp_to_string string(timestamp) string
0 uint64_to_string string(uint) string
0 timestamp_to_timestamp timestamp(timestamp) timestamp
0 int64_to_timestamp timestamp(int) timestamp
0 string_to_timestamp timestamp(string) timestamp
0 uint64_to_uint64 uint(uint) uint
0 double_to_uint64 uint(double) uint
0 int64_to_uint64 uint(int) uint
0 string_to_uint64 uint(string) uint
0 contains_string string.contains(string) bool
0 ends_with_string string.endsWith(string) bool
0 starts_with_string string.startsWith(string) bool
0 matches matches(string, string) bool
0 matches_string string.matches(string) bool
0 timestamp_to_year timestamp.getFullYear() int
0 timestamp_to_year_with_tz timestamp.getFullYear(string) int
0 timestamp_to_month timestamp.getMonth() int
0 timestamp_to_month_with_tz timestamp.getMonth(string) int
0 timestamp_to_day_of_year timestamp.getDayOfYear() int
0 timestamp_to_day_of_year_with_tz timestamp.getDayOfYear(string) int
0 timestamp_to_day_of_month timestamp.getDayOfMonth() int
0 timestamp_to_day_of_month_with_tz timestamp.getDayOfMonth(string) int
0 timestamp_to_day_of_month_1_based timestamp.getDate() int
0 timestamp_to_day_of_month_1_based_with_tz timestamp.getDate(string) int
0 timestamp_to_day_of_week timestamp.getDayOfWeek() int
0 timestamp_to_day_of_week_with_tz timestamp.getDayOfWeek(string) int
0 timestamp_to_hours timestamp.getHours() int
0 timestamp_to_hours_with_tz timestamp.getHours(string) int
0 duration_to_hours duration.getHours() int
0 timestamp_to_minutes timestamp.getMinutes() int
0 timestamp_to_minutes_with_tz timestamp.getMinutes(string) int
0 duration_to_minutes duration.getMinutes() int
0 timestamp_to_seconds timestamp.getSeconds() int
0 timestamp_to_seconds_tz timestamp.getSeconds(string) int
0 duration_to_seconds duration.getSeconds() int
0 timestamp_to_milliseconds timestamp.getMilliseconds() int
0 timestamp_to_milliseconds_with_tz timestamp.getMilliseconds(string) int
0 duration_to_milliseconds duration.getMilliseconds() int
28 optional_of optional.of(A) optional(A)
28 optional_ofNonZeroValue optional.ofNonZeroValue(A) optional(A)
28 optional_none optional.none() optional(A)
28 optional_unwrap optional.unwrap(list(optional(A))) list(A)
28 optional_value optional(A).value() A
28 optional_hasValue optional(A).hasValue() bool
28 optional_or_optional optional(A).or(optional(A)) optional(A)
28 optional_orValue_value optional(A).orValue(A) A
28 optional_unwrapOpt list(optional(A)).unwrapOpt() list(A)
28 list_first list(A).first() optional(A)
28 list_last list(A).last() optional(A)
32 @mapInsert_map_key_value cel.@mapInsert(map(A, B), A, B) map(A, B)
32 @mapInsert_map_map cel.@mapInsert(map(A, B), map(A, B)) map(A, B)
0 string_char_at_int string.charAt(int) string
0 string_index_of_string string.indexOf(string) int
0 string_index_of_string_int string.indexOf(string, int) int
0 list_a_index_of_int list(A).indexOf(A) int
0 string_last_index_of_string string.lastIndexOf(string) int
0 string_last_index_of_string_int string.lastIndexOf(string, int) int
0 list_a_last_index_of_int list(A).lastIndexOf(A) int
0 string_lower_ascii string.lowerAscii() string
0 string_replace_string_string string.replace(string, string) string
0 string_replace_string_string_int string.replace(string, string, int) string
0 string_split_string string.split(string) list(string)
0 string_split_string_int string.split(string, int) list(string)
0 string_substring_int string.substring(int) string
0 string_substring_int_int string.substring(int, int) string
0 string_trim string.trim() string
0 string_upper_ascii string.upperAscii() string
29 string_format string.format(list(dyn)) string
29 strings_quote strings.quote(string) string
0 list_join list(string).join() string
0 list_join_string list(string).join(string) string
29 list_sets_contains_list sets.contains(list(A), list(A)) bool
29 list_sets_equivalent_list sets.equivalent(list(A), list(A)) bool
29 list_sets_intersects_list sets.intersects(list(A), list(A)) bool
34 list_slice list(A).slice(int, int) list(A)
34 list_flatten list(list(A)).flatten() list(A)
34 list_flatten_int list(dyn).flatten(int) list(dyn)
34 lists_range lists.range(int) list(int)
34 list_reverse list(A).reverse() list(A)
34 list_distinct list(A).distinct() list(A)
0 string_find_string string.find(string) string
0 string_find_all_string string.findAll(string) list(string)
0 string_find_all_string_int string.findAll(string, int) list(string)
0 string_to_url url(string) URL
0 is_url_string isURL(string) bool
0 url_get_scheme URL.getScheme() string
0 url_get_host URL.getHost() string
0 url_get_hostname URL.getHostname() string
0 url_get_port URL.getPort() string
0 url_get_escaped_path URL.getEscapedPath() string
0 url_get_query URL.getQuery() map(string, list(string))
28 string_to_quantity quantity(string) Quantity
28 is_quantity_string isQuantity(string) bool
28 quantity_sign sign(Quantity) int
28 quantity_is_greater_than Quantity.isGreaterThan(Quantity) bool
28 quantity_is_less_than Quantity.isLessThan(Quantity) bool
28 quantity_compare_to Quantity.compareTo(Quantity) int
28 quantity_get_float Quantity.asApproximateFloat() double
28 quantity_get_int Quantity.asInteger() int
28 quantity_is_integer Quantity.isInteger() bool
28 quantity_add Quantity.add(Quantity) Quantity
28 quantity_add_int Quantity.add(int) Quantity
28 quantity_sub Quantity.sub(Quantity) Quantity
28 quantity_sub_int Quantity.sub(int) Quantity
30 string_to_ip ip(string) IP
30 cidr_ip CIDR.ip() IP
30 ip_family IP.family() int
30 ip_is_canonical ip.isCanonical(string) bool
30 ip_is_unspecified IP.isUnspecified() bool
30 ip_is_loopback IP.isLoopback() bool
30 ip_is_link_local_multicast IP.isLinkLocalMulticast() bool
30 ip_is_link_local_unicast IP.isLinkLocalUnicast() bool
30 ip_is_global_unicast IP.isGlobalUnicast() bool
30 is_ip isIP(string) bool
30 ip_to_string string(IP) string
30 string_to_cidr cidr(string) CIDR
30 cidr_contains_ip_string CIDR.containsIP(string) bool
30 cidr_contains_ip_ip CIDR.containsIP(IP) bool
30 cidr_contains_cidr_string CIDR.containsCIDR(string) bool
30 cidr_contains_cidr CIDR.containsCIDR(CIDR) bool
30 cidr_prefix_length CIDR.prefixLength() int
30 cidr_masked CIDR.masked() CIDR
30 is_cidr isCIDR(string) bool
30 cidr_to_string string(CIDR) string
31 format-validate Format.validate(string) optional(list(string))
31 format-named format.named(string) optional(Format)
33 string_to_semver semver(string) Semver
33 string_bool_to_semver semver(string, bool) Semver
33 is_semver_string isSemver(string) bool
33 is_semver_string_bool isSemver(string, bool) bool
33 semver_is_greater_than Semver.isGreaterThan(Semver) bool
33 semver_is_less_than Semver.isLessThan(Semver) bool
33 semver_compare_to Semver.compareTo(Semver) int
33 semver_major Semver.major() int
33 semver_minor Semver.minor() int
33 semver_patch Semver.patch() int
";

/// What can be ordered: the type in signatures and its name in overload ids.
const COMPARABLE: [(&str, &str); 8] = [
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("bool", "bool"),
    ("duration", "duration"),
    ("timestamp", "timestamp"),
    ("string", "string"),
    ("bytes", "bytes"),
];

/// Comparison operators and their words in overload ids.
const ORDERINGS: [(&str, &str); 4] =
    [("_<_", "less"), ("_<=_", "less_equals"), ("_>_", "greater"), ("_>=_", "greater_equals")];

/// One way to call a function.
#[derive(Clone, Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) is_member: bool,
    since: u16,
    /// The target comes first.
    args: Vec<Sig>,
    result: Sig,
}

#[derive(Clone, Debug)]
enum Sig {
    Letter(u8),
    Plain(Type),
    List(Box<Sig>),
    Map(Box<Sig>, Box<Sig>),
    Optional(Box<Sig>),
}

impl Overload {
    /// The types of arguments and result, with fresh types for the letters.
    pub(crate) fn instantiate(&self, solver: &mut Solver) -> (Vec<Type>, Type) {
        let mut letters = HashMap::new();
        let args = self.args.iter().map(|arg| arg.instantiate(&mut letters, solver)).collect();
        let result = self.result.instantiate(&mut letters, solver);
        (args, result)
    }
}

impl Sig {
    fn instantiate(&self, letters: &mut HashMap<u8, Type>, solver: &mut Solver) -> Type {
        match self {
            Self::Letter(letter) => letters.entry(*letter).or_insert_with(|| solver.fresh()).clone(),
            Self::Plain(plain) => plain.clone(),
            Self::List(item) => Type::list(item.instantiate(letters, solver)),
            Self::Optional(inner) => Type::optional(inner.instantiate(letters, solver)),
            Self::Map(key, value) => {
                let key = key.instantiate(letters, solver);
                Type::map(key, value.instantiate(letters, solver))
            }
        }
    }
}

static FUNCTIONS: LazyLock<HashMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let mut out: HashMap<&'static str, Vec<Overload>> = HashMap::new();
    // The few hundred lines made here live as long as the process.
    let generated: &'static str = Box::leak(generated().into_boxed_str());
    for line in SIGNATURES.lines().chain(generated.lines()).filter(|line| !line.is_empty()) {
        let (name, overload) = parse(line).expect("signature must be well formed");
        out.entry(name).or_default().push(overload);
    }
    out
});

/// Signatures that only differ in a type.
fn generated() -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    let ids = [
        ("bool", "bool"),
        ("int", "int64"),
        ("uint", "uint64"),
        ("double", "double"),
        ("string", "string"),
        ("bytes", "bytes"),
        ("timestamp", "timestamp"),
        ("duration", "duration"),
    ];
    for (operator, word) in ORDERINGS {
        for (name, id) in ids {
            let _ = writeln!(out, "0 {word}_{id} {operator}({name}, {name}) bool");
        }
        for (first, first_id) in &ids[1..4] {
            for (second, second_id) in ids[1..4].iter().filter(|(second, _)| second != first) {
                let _ = writeln!(out, "28 {word}_{first_id}_{second_id} {operator}({first}, {second}) bool");
            }
        }
    }
    for (name, id) in COMPARABLE {
        let _ = writeln!(out, "0 list_{id}_is_sorted_bool list({name}).isSorted() bool");
        let _ = writeln!(out, "0 list_{id}_max_{id} list({name}).max() {name}");
        let _ = writeln!(out, "0 list_{id}_min_{id} list({name}).min() {name}");
        let _ = writeln!(out, "34 list_{id}_sort list({name}).sort() list({name})");
        let _ = writeln!(
            out,
            "34 list_{id}_sortByAssociatedKeys list(A).@sortByAssociatedKeys(list({name})) list(A)"
        );
        if matches!(name, "int" | "uint" | "double" | "duration") {
            let _ = writeln!(out, "0 list_{id}_sum_{id} list({name}).sum() {name}");
        }
    }
    for name in super::library::formats::NAMES {
        let _ = writeln!(out, "31 format.{name} format.{name}() Format");
    }
    out
}

fn parse(line: &'static str) -> Option<(&'static str, Overload)> {
    let (since, rest) = line.split_once(' ')?;
    let (id, rest) = rest.split_once(' ')?;
    // The arguments are in the last parentheses that close before the result.
    let close = rest.rfind(") ")?;
    let open = matching(rest, close)?;
    let (head, result) = (&rest[..open], &rest[close + 2..]);
    let (target, name) = receiver(head);
    let mut args: Vec<Sig> = target.into_iter().map(sig).collect();
    args.extend(split(&rest[open + 1..close]).into_iter().map(sig));
    Some((
        name,
        Overload { id, is_member: target.is_some(), since: since.parse().ok()?, args, result: sig(result) },
    ))
}

/// The parenthesis that a closing one belongs to. The result may have parentheses of its own, so the
/// arguments are found from the left.
fn matching(text: &str, close: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text[..=close].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// `string.size` is a member of a type; `optional.of` and `format.named` are names with a dot.
fn receiver(head: &'static str) -> (Option<&'static str>, &'static str) {
    let namespaces = ["optional.", "format.", "strings.", "sets.", "lists.", "cel.", "ip."];
    if namespaces.iter().any(|namespace| head.starts_with(namespace)) {
        return (None, head);
    }
    match head.rsplit_once('.') {
        Some((target, name)) => (Some(target), name),
        None => (None, head),
    }
}

/// The parts between commas outside parentheses.
fn split(text: &'static str) -> Vec<&'static str> {
    let mut out = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        out.push(text[start..].trim());
    }
    out
}

fn sig(text: &'static str) -> Sig {
    let inner = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')'));
    if let Some(item) = inner("list(") {
        return Sig::List(Box::new(sig(item)));
    }
    if let Some(value) = inner("optional(") {
        return Sig::Optional(Box::new(sig(value)));
    }
    if let Some([key, value]) = inner("map(").map(split).as_deref() {
        return Sig::Map(Box::new(sig(key)), Box::new(sig(value)));
    }
    Sig::Plain(match text {
        "dyn" => Type::Dyn,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "type" => Type::Meta,
        "URL" => Type::Kubernetes(Extra::Url),
        "Quantity" => Type::Kubernetes(Extra::Quantity),
        "IP" => Type::Kubernetes(Extra::Ip),
        "CIDR" => Type::Kubernetes(Extra::Cidr),
        "Format" => Type::Kubernetes(Extra::Format),
        "Semver" => Type::Kubernetes(Extra::Semver),
        letter => return Sig::Letter(letter.as_bytes()[0]),
    })
}

/// The ways to call a function; `None` when there is none of this name.
pub(crate) fn overloads(name: &str, env: Env) -> Option<impl Iterator<Item = &'static Overload>> {
    let all = FUNCTIONS.get(name)?;
    let known = move |overload: &&Overload| overload.since <= env.minor;
    all.iter().any(|overload| known(&overload)).then(|| all.iter().filter(known))
}

/// Types that may be named in an expression.
pub(crate) fn is_type_name(name: &str, env: Env) -> bool {
    match name {
        "bool"
        | "bytes"
        | "double"
        | "int"
        | "list"
        | "map"
        | "null_type"
        | "string"
        | "type"
        | "uint"
        | "dyn"
        | "google.protobuf.Duration"
        | "google.protobuf.Timestamp"
        | "kubernetes.URL" => true,
        "optional_type" | "kubernetes.Quantity" => env.minor >= 28,
        "net.IP" | "net.CIDR" => env.minor >= 30,
        "kubernetes.NamedFormat" => env.minor >= 31,
        "kubernetes.Semver" => env.minor >= 33,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_read_and_every_id_is_unique() {
        let mut seen = HashMap::new();
        for (name, all) in FUNCTIONS.iter() {
            for overload in all {
                assert_eq!(seen.insert(overload.id, name), None, "{}", overload.id);
            }
        }
        assert!(seen.len() > 250, "{}", seen.len());
        let joined = &FUNCTIONS["join"];
        assert!(joined.iter().all(|overload| overload.is_member));
        assert!(!FUNCTIONS["optional.unwrap"][0].is_member);
        assert!(FUNCTIONS["orValue"][0].is_member);
    }
}
