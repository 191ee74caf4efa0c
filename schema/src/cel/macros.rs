//! Calls that are rewritten while parsing.
//!
//! Behaviour: cel-go `parser/macro.go`, `cel/library.go` (optMap), `ext/comprehensions.go`,
//! `ext/lists.go` (sortBy). The shape of what they expand to decides what a rule costs.

use super::syntax::{Builder, Env, Expr, Fold, Issue, Kind, Literal};

/// The accumulator of folds; no source can name it.
pub(crate) const ACCUMULATOR: &str = "@result";

/// `function(args)`
pub(crate) fn global(
    builder: &mut Builder,
    at: usize,
    function: &str,
    mut args: Vec<Expr>,
) -> Result<Expr, Issue> {
    if function == "has" && args.len() == 1 {
        let arg = args.remove(0);
        return match arg.kind {
            Kind::Select { operand, field, test: false } => {
                Ok(builder.node(at, Kind::Select { operand, field, test: true }))
            }
            _ => Err(Issue::new(arg.at, "invalid argument to has() macro")),
        };
    }
    Ok(builder.call(at, function, args))
}

/// `target.function(args)`
pub(crate) fn member(
    builder: &mut Builder,
    env: Env,
    at: usize,
    function: &str,
    target: Expr,
    args: Vec<Expr>,
) -> Result<Expr, Issue> {
    let mut expand = Expand { builder, at };
    let two_variables = env.minor >= 32;
    match (function, args.len()) {
        ("all" | "exists" | "exists_one" | "existsOne", 2) => {
            let [var, predicate] = take(args);
            let var = name(&var, "argument must be a simple name")?;
            Ok(expand.quantifier(function, target, var, None, predicate))
        }
        ("all" | "exists" | "exists_one" | "existsOne", 3) if two_variables => {
            let [first, second, predicate] = take(args);
            let (var, var2) = names(&first, &second)?;
            Ok(expand.quantifier(function, target, var, Some(var2), predicate))
        }
        ("map", 2 | 3) => expand.map(target, args),
        ("filter", 2) => {
            let [var, predicate] = take(args);
            let var = name(&var, "argument is not an identifier")?;
            let item = expand.builder.ident(at, &var);
            let step = expand.append(item);
            let step = expand.when(predicate, step);
            Ok(expand.collect(target, var, None, step))
        }
        ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) if two_variables => {
            expand.transform(function, target, args)
        }
        ("optMap" | "optFlatMap", 2) if env.minor >= 28 => expand.optional(function, target, args),
        ("sortBy", 2) if env.minor >= 34 => expand.sort_by(target, args),
        _ => Ok(expand.builder.member(at, function, target, args)),
    }
}

fn take<const N: usize>(args: Vec<Expr>) -> [Expr; N] {
    args.try_into().expect("the caller matched the number of arguments")
}

fn name(expr: &Expr, otherwise: &str) -> Result<String, Issue> {
    match &expr.kind {
        Kind::Ident(name) => Ok(name.clone()),
        _ => Err(Issue::new(expr.at, otherwise)),
    }
}

fn names(first: &Expr, second: &Expr) -> Result<(String, String), Issue> {
    let otherwise = "argument must be a simple name";
    let (var, var2) = (name(first, otherwise)?, name(second, otherwise)?);
    if var == var2 {
        return Err(Issue::new(second.at, format!("duplicate variable name: {var}")));
    }
    Ok((var, var2))
}

struct Expand<'b> {
    builder: &'b mut Builder,
    at: usize,
}

impl Expand<'_> {
    fn accu(&mut self) -> Expr {
        self.builder.ident(self.at, ACCUMULATOR)
    }

    fn bool(&mut self, value: bool) -> Expr {
        self.builder.literal(self.at, Literal::Bool(value))
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        self.builder.call(self.at, function, args)
    }

    fn fold(&mut self, fold: Fold) -> Expr {
        self.builder.node(self.at, Kind::Fold(Box::new(fold)))
    }

    fn quantifier(
        &mut self,
        function: &str,
        range: Expr,
        var: String,
        var2: Option<String>,
        predicate: Expr,
    ) -> Expr {
        let accu = self.accu();
        let (init, condition, step, result) = match function {
            "all" => {
                let init = self.bool(true);
                let condition = self.call("@not_strictly_false", vec![accu]);
                let accu = self.accu();
                let step = self.call("_&&_", vec![accu, predicate]);
                (init, condition, step, self.accu())
            }
            "exists" => {
                let init = self.bool(false);
                let not = self.call("!_", vec![accu]);
                let condition = self.call("@not_strictly_false", vec![not]);
                let accu = self.accu();
                let step = self.call("_||_", vec![accu, predicate]);
                (init, condition, step, self.accu())
            }
            _ => {
                let init = self.builder.literal(self.at, Literal::Int(0));
                let condition = self.bool(true);
                let one = self.builder.literal(self.at, Literal::Int(1));
                let step = self.call("_+_", vec![accu, one]);
                let step = self.when(predicate, step);
                let accu = self.accu();
                let one = self.builder.literal(self.at, Literal::Int(1));
                (init, condition, step, self.call("_==_", vec![accu, one]))
            }
        };
        self.fold(Fold { range, var, var2, accu: ACCUMULATOR.to_owned(), init, condition, step, result })
    }

    /// `accumulator + [item]`
    fn append(&mut self, item: Expr) -> Expr {
        let accu = self.accu();
        let list = self.builder.list(self.at, vec![item]);
        self.call("_+_", vec![accu, list])
    }

    /// `predicate ? step : accumulator`
    fn when(&mut self, predicate: Expr, step: Expr) -> Expr {
        let accu = self.accu();
        self.call("_?_:_", vec![predicate, step, accu])
    }

    fn collect(&mut self, range: Expr, var: String, var2: Option<String>, step: Expr) -> Expr {
        let init = self.builder.list(self.at, Vec::new());
        self.gather(range, var, var2, init, step)
    }

    fn gather(&mut self, range: Expr, var: String, var2: Option<String>, init: Expr, step: Expr) -> Expr {
        let condition = self.bool(true);
        let result = self.accu();
        self.fold(Fold { range, var, var2, accu: ACCUMULATOR.to_owned(), init, condition, step, result })
    }

    fn map(&mut self, range: Expr, args: Vec<Expr>) -> Result<Expr, Issue> {
        let mut args = args.into_iter();
        let (Some(var), Some(mut transform)) = (args.next(), args.next()) else {
            return Err(Issue::new(self.at, "map() takes two or three arguments"));
        };
        let var = name(&var, "argument is not an identifier")?;
        let mut predicate = None;
        if let Some(third) = args.next() {
            predicate = Some(std::mem::replace(&mut transform, third));
        }
        let mut step = self.append(transform);
        if let Some(predicate) = predicate {
            step = self.when(predicate, step);
        }
        Ok(self.collect(range, var, None, step))
    }

    fn transform(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Result<Expr, Issue> {
        let (var, var2) = names(&args[0], &args[1])?;
        let mut rest = args.into_iter().skip(2);
        let Some(mut transform) = rest.next() else {
            return Err(Issue::new(self.at, format!("{function}() takes three or four arguments")));
        };
        let mut predicate = None;
        if let Some(fourth) = rest.next() {
            predicate = Some(std::mem::replace(&mut transform, fourth));
        }
        let mut step = match function {
            "transformList" => self.append(transform),
            "transformMap" => {
                let (accu, key) = (self.accu(), self.builder.ident(self.at, &var));
                self.call("cel.@mapInsert", vec![accu, key, transform])
            }
            _ => {
                let accu = self.accu();
                self.call("cel.@mapInsert", vec![accu, transform])
            }
        };
        if let Some(predicate) = predicate {
            step = self.when(predicate, step);
        }
        if function == "transformList" {
            return Ok(self.collect(range, var, Some(var2), step));
        }
        let init = self.builder.node(self.at, Kind::Map(Vec::new()));
        Ok(self.gather(range, var, Some(var2), init, step))
    }

    /// A value under a name: a fold over nothing.
    fn bind(&mut self, var: &str, value: Expr, result: Expr) -> Expr {
        let range = self.builder.list(self.at, Vec::new());
        let condition = self.bool(false);
        let step = self.builder.ident(self.at, var);
        let fold = Fold {
            range,
            var: "#unused".to_owned(),
            var2: None,
            accu: var.to_owned(),
            init: value,
            condition,
            step,
            result,
        };
        self.fold(fold)
    }

    fn optional(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Result<Expr, Issue> {
        let [var, transform] = take(args);
        let var = name(&var, &format!("{function}() variable name must be a simple identifier"))?;
        let copy = self.builder.copy(&target);
        let has_value = self.builder.member(self.at, "hasValue", target, Vec::new());
        let value = self.builder.member(self.at, "value", copy, Vec::new());
        let mut then = self.bind(&var, value, transform);
        if function == "optMap" {
            then = self.call("optional.of", vec![then]);
        }
        let otherwise = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![has_value, then, otherwise]))
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Result<Expr, Issue> {
        const INPUT: &str = "@__sortBy_input__";
        let input = self.builder.ident(self.at, INPUT);
        let keys = self.map(input, args)?;
        let input = self.builder.ident(self.at, INPUT);
        let sorted = self.builder.member(self.at, "@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.bind(INPUT, target, sorted))
    }
}
