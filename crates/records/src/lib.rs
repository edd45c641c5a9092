//! Records: the structs that a store writes, so that the domain can change without the stored format.
//!
//! A record mirrors a type of the domain field by field. [`records!`] declares it and writes the conversions in both
//! directions. Each field is converted by [`Stored`], which the module `values` implements for ids, texts, numbers and
//! containers.
//!
//! The crate knows no format: each store encodes its records, and has golden tests that hold the bytes.

mod values;

/// The stored form of a `T`: the type of a field in a record. It may borrow from the value while that is written.
pub trait Stored<'a, T> {
    fn of(value: &'a T) -> Self;

    fn restore(self) -> T;
}

/// Declares records and their conversions.
///
/// ```
/// # use godwit_records::records;
/// struct Pin { message: u64, by: Option<Box<str>> }
/// enum Change { Pinned(Pin), Unpinned { message: u64 }, Left }
///
/// records! {
///     struct PinRecord for Pin {
///         message: u64,
///         by: Option<Box<str>>,
///     }
///
///     enum ChangeRecord for Change {
///         Pinned(pin: PinRecord),
///         Unpinned { message: u64 },
///         Left,
///     }
/// }
/// ```
///
/// declares the struct and the enum with serde's derives, and implements `From<&Pin> for PinRecord` and
/// `From<PinRecord> for Pin`, and the same for the enum. The first of the four is
///
/// ```ignore
/// impl From<&Pin> for PinRecord {
///     fn from(value: &Pin) -> Self {
///         let Pin { message, by } = value;
///         Self { message: Stored::of(message), by: Stored::of(by) }
///     }
/// }
/// ```
///
/// A field or a variant that only one of the two types has is an error of the compiler. Attributes are kept: a field
/// that is stored under another name has `#[serde(rename = "…")]`. Other forms:
///
/// - `struct PinRecord for Pin, into_pin(message: u64) { … }`: the record has no field `message`, because the key of its
///   row has it. Instead of `From<PinRecord> for Pin` there is a method `into_pin(self, message: u64) -> Pin`.
/// - `struct PinRecord for Pin (message: u64, …)` stores the fields without names, as a tuple.
/// - `struct PinRecord<'a> for Pin { by: Option<&'a str>, … }` borrows when it is written. The lifetime is called `'a`.
/// - `Off { message: u64 } = Unpinned { message }` stores a variant under another name or in another shape.
/// - `Pinned(pin: PinRecord => pin.into_pin(message))` restores an item of a variant by an expression, which may use the
///   arguments of the enum's own `into_change(message: u64)`.
/// - `enum ChangeRecord for Change except Pinned(_) { … }`: callers store this variant in another way; here it panics.
#[macro_export]
macro_rules! records {
    () => {};

    // A struct with named fields.
    (
        $(#[$meta:meta])*
        $vis:vis struct $record:ident $(<$life:lifetime>)? for $domain:ident
        $(, $into:ident($($key:ident: $key_type:ty),+))? {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty),+ $(,)?
        }
        $($rest:tt)*
    ) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        $(#[$meta])*
        $vis struct $record $(<$life>)? {
            $($(#[$field_meta])* $field_vis $field: $type),+
        }

        $crate::records! {
            @convert [$vis] [$record $(<$life>)?] [$domain] [$($into($($key: $key_type),+))?]
            value => {
                let $domain { $($field,)+ $($($key: _),+)? } = value;
                $record { $($field: $crate::Stored::of($field)),+ }
            }
            record => {
                let $record { $($field),+ } = record;
                $domain { $($field: $crate::Stored::restore($field),)+ $($($key),+)? }
            }
        }

        $crate::records! { $($rest)* }
    };

    // A struct that is stored as a tuple.
    (
        $(#[$meta:meta])*
        $vis:vis struct $record:ident for $domain:ident ($($field:ident: $type:ty),+);
        $($rest:tt)*
    ) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        $(#[$meta])*
        $vis struct $record($($type),+);

        $crate::records! {
            @convert [$vis] [$record] [$domain] []
            value => {
                let $domain { $($field),+ } = value;
                $record($($crate::Stored::of($field)),+)
            }
            record => {
                let $record($($field),+) = record;
                $domain { $($field: $crate::Stored::restore($field)),+ }
            }
        }

        $crate::records! { $($rest)* }
    };

    // An enum.
    (
        $(#[$meta:meta])*
        $vis:vis enum $record:ident $(<$life:lifetime>)? for $domain:ident
        $(, $into:ident($($key:ident: $key_type:ty),+))? $(except $except:ident $hole:tt)? {
            $(
                $(#[$variant_meta:meta])*
                $variant:ident
                $(($($item:ident: $item_type:ty $(=> $restored:expr)?),+))?
                $({ $($(#[$field_meta:meta])* $field:ident: $type:ty),+ $(,)? })?
                $(= $other:ident $shape:tt)?
            ),+ $(,)?
        }
        $($rest:tt)*
    ) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        $(#[$meta])*
        $vis enum $record $(<$life>)? {
            $(
                $(#[$variant_meta])*
                $variant $(($($item_type),+))? $({ $($(#[$field_meta])* $field: $type),+ })?
            ),+
        }

        $crate::records! {
            @convert [$vis] [$record $(<$life>)?] [$domain] [$($into($($key: $key_type),+))?]
            value => {
                match value {
                    $(
                        $crate::records!(
                            @shape $domain $(= $other $shape)?
                            or $variant $(($($item),+))? $({ $($field),+ })?
                        ) => $record::$variant
                            $(($($crate::records!(@of $item $(=> $restored)?)),+))?
                            $({ $($field: $crate::Stored::of($field)),+ })?,
                    )+
                    $($domain::$except $hole => unreachable!("it has a record of its own"),)?
                }
            }
            record => {
                match record {
                    $(
                        $record::$variant $(($($item),+))? $({ $($field),+ })? => {
                            $($(let $item = $crate::records!(@restore $item $(=> $restored)?);)+)?
                            $($(let $field = $crate::Stored::restore($field);)+)?
                            $crate::records!(
                                @shape $domain $(= $other $shape)?
                                or $variant $(($($item),+))? $({ $($field),+ })?
                            )
                        }
                    )+
                }
            }
        }

        $crate::records! { $($rest)* }
    };

    // Both conversions of a record whose row has nothing else of the value in its key.
    (
        @convert [$vis:vis] [$record:ty] [$domain:ident] []
        $value:ident => $of:block
        $stored:ident => $restore:block
    ) => {
        impl<'a> From<&'a $domain> for $record {
            fn from($value: &'a $domain) -> Self $of
        }

        impl<'a> From<$record> for $domain {
            fn from($stored: $record) -> Self $restore
        }

        impl<'a> $crate::Stored<'a, $domain> for $record {
            fn of(value: &'a $domain) -> Self {
                value.into()
            }

            fn restore(self) -> $domain {
                self.into()
            }
        }
    };

    // Both conversions of a record that needs its key.
    (
        @convert [$vis:vis] [$record:ty] [$domain:ident] [$into:ident($($key:ident: $key_type:ty),+)]
        $value:ident => $of:block
        $stored:ident => $restore:block
    ) => {
        impl<'a> From<&'a $domain> for $record {
            fn from($value: &'a $domain) -> Self $of
        }

        impl<'a> $record {
            $vis fn $into(self, $($key: $key_type),+) -> $domain {
                let $stored = self;
                $restore
            }
        }
    };

    // A variant of the domain, as a pattern and as an expression.
    (@shape $domain:ident = $other:ident $shape:tt or $($same:tt)+) => { $domain::$other $shape };
    (@shape $domain:ident or $($same:tt)+) => { $domain::$($same)+ };

    (@of $item:ident) => { $crate::Stored::of($item) };
    (@of $item:ident => $restored:expr) => { $item.into() };

    (@restore $item:ident) => { $crate::Stored::restore($item) };
    (@restore $item:ident => $restored:expr) => { $restored };
}

#[cfg(test)]
mod tests;
