//! One half sorts a part of what the other sorts.
fn sort(slice: &mut [u32]) {
    if slice.len() > 1 {
        let middle = slice.len() / 2;
        let (left, _right) = slice.split_at_mut(middle);
        rayon_core::join(|| sort(left), || sort(slice)); //~ E0500
    }
}

fn main() {
    sort(&mut [2, 1]);
}
