//! Both halves sort the same half.
fn sort(slice: &mut [u32]) {
    if slice.len() > 1 {
        let middle = slice.len() / 2;
        let (left, _right) = slice.split_at_mut(middle);
        rayon_core::join(|| sort(left), || sort(left)); //~ E0524
    }
}

fn main() {
    sort(&mut [2, 1]);
}
