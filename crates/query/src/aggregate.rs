//! placeholder
use crate::error::EvalError;
use telar_graph::Value;
pub(crate) trait Accumulator {
    fn update(&mut self, a: &[Value]) -> Result<(), EvalError>;
    fn finish(&mut self) -> Result<Value, EvalError>;
    fn bytes(&self) -> usize;
}
struct A(String, Vec<Value>, i64);
impl Accumulator for A {
    fn update(&mut self, a: &[Value]) -> Result<(), EvalError> {
        if a.is_empty() {
            self.2 += 1
        } else if !a[0].is_null() {
            self.1.push(a[0].clone())
        }
        Ok(())
    }
    fn finish(&mut self) -> Result<Value, EvalError> {
        Ok(match &*self.0 {
            "count" => Value::Int(self.2 + self.1.len() as i64),
            "collect" => Value::from(std::mem::take(&mut self.1)),
            "sum" => {
                let mut s = Value::Int(0);
                for v in &self.1 {
                    s = crate::ops::add(&s, v)?;
                }
                s
            }
            "min" => self.1.iter().min().cloned().unwrap_or_default(),
            "max" => self.1.iter().max().cloned().unwrap_or_default(),
            _ => Value::Null,
        })
    }
    fn bytes(&self) -> usize {
        24 * self.1.len()
    }
}
pub(crate) fn accumulator(
    name: &str,
    _d: bool,
    _s: bool,
) -> Result<Box<dyn Accumulator>, EvalError> {
    Ok(Box::new(A(name.into(), Vec::new(), 0)))
}
