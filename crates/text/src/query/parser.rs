//! From tokens to clauses. `AND` and `OR` mix as in Lucene: no precedence, but marks on clauses.

use super::lexer::{Placed, Token, tokens};
use super::{Clause, DEPTH_MAX, Node, Occur, ParseError};

/// Reads a query.
///
/// # Errors
/// If the text is no query, with the place.
pub fn parse(text: &str) -> Result<Clause, ParseError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let query = parser.query(None)?;
    match parser.kind() {
        Token::End => Ok(query),
        _ => parser.fails("this closes no parenthesis"),
    }
}

struct Parser {
    tokens: Vec<Placed>,
    at: usize,
    depth: usize,
}

#[derive(PartialEq, Clone, Copy)]
enum Conjunction {
    None,
    And,
    Or,
}

#[derive(PartialEq, Clone, Copy)]
enum Modifier {
    None,
    Required,
    Prohibited,
}

impl Parser {
    fn kind(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> &Token {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)].0
    }

    fn bump(&mut self) -> Token {
        let token = self.kind().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn fails<T>(&self, message: &str) -> Result<T, ParseError> {
        let column = self.tokens[self.at].1;
        Err(ParseError { message: message.to_owned(), column })
    }

    /// Clauses up to the end, or a parenthesis that closes.
    fn query(&mut self, field: Option<&str>) -> Result<Clause, ParseError> {
        let mut clauses: Vec<(Occur, Clause)> = Vec::new();
        let mut only = true;
        while clauses.is_empty() || !matches!(self.kind(), Token::End | Token::Close) {
            if let Some(words) = self.words_in_a_row() {
                let node = Node::Words(words);
                let field = field.map(str::to_owned);
                clauses.push((Occur::Should, Clause { field, boost: 1.0, node }));
                continue;
            }
            let conjunction = match self.kind() {
                _ if clauses.is_empty() => Conjunction::None,
                Token::And => Conjunction::And,
                Token::Or => Conjunction::Or,
                _ => Conjunction::None,
            };
            if conjunction != Conjunction::None {
                self.bump();
            }
            let modifier = match self.kind() {
                Token::Plus => Modifier::Required,
                Token::Minus | Token::Not => Modifier::Prohibited,
                _ => Modifier::None,
            };
            if modifier != Modifier::None {
                self.bump();
                only = false;
            }
            let clause = self.clause(field)?;
            if conjunction == Conjunction::And
                && let Some((occur @ Occur::Should, _)) = clauses.last_mut()
            {
                *occur = Occur::Must;
            }
            let occur = match (modifier, conjunction) {
                (Modifier::Prohibited, _) => Occur::MustNot,
                (Modifier::Required, _) | (_, Conjunction::And) => Occur::Must,
                _ => Occur::Should,
            };
            clauses.push((occur, clause));
        }
        match clauses.pop() {
            Some((_, clause)) if only && clauses.is_empty() => Ok(clause),
            last => {
                clauses.extend(last);
                Ok(Clause { field: None, boost: 1.0, node: Node::Boolean(clauses) })
            }
        }
    }

    /// Two terms or more with nothing between them: an analyzer sees them together.
    fn words_in_a_row(&mut self) -> Option<String> {
        let is_word = |parser: &Self, n: usize| {
            let followed = matches!(
                parser.ahead(n + 1),
                Token::Colon
                    | Token::Star
                    | Token::Fuzzy(_)
                    | Token::Boost(_)
                    | Token::And
                    | Token::Or
            );
            matches!(parser.ahead(n), Token::Term(_)) && !followed
        };
        if !is_word(self, 0) || !is_word(self, 1) {
            return None;
        }
        let mut words = String::new();
        while is_word(self, 0) {
            if let Token::Term(word) = self.bump() {
                if !words.is_empty() {
                    words.push(' ');
                }
                words.push_str(&word);
            }
        }
        Some(words)
    }

    fn clause(&mut self, field: Option<&str>) -> Result<Clause, ParseError> {
        let named = match (self.kind(), self.ahead(1)) {
            (Token::Term(name), Token::Colon) => Some(name.clone()),
            (Token::Star, Token::Colon) => Some("*".to_owned()),
            _ => None,
        };
        if named.is_some() {
            self.bump();
            self.bump();
        }
        let field = named.as_deref().or(field);
        if *self.kind() != Token::Open {
            return self.term(field);
        }
        if self.depth >= DEPTH_MAX {
            return self.fails(&format!("parentheses are nested more than {DEPTH_MAX} deep"));
        }
        self.bump();
        self.depth += 1;
        let mut inner = self.query(field)?;
        self.depth -= 1;
        if *self.kind() != Token::Close {
            return self.fails("a parenthesis is not closed");
        }
        self.bump();
        if let Token::Boost(boost) = *self.kind() {
            self.bump();
            inner.boost *= boost;
        }
        Ok(inner)
    }

    fn term(&mut self, field: Option<&str>) -> Result<Clause, ParseError> {
        let node = match self.kind().clone() {
            Token::Term(text) => {
                self.bump();
                let mut node = Node::Words(text.clone());
                if let Some(similarity) = self.fuzzy(2.0)? {
                    node = Node::Fuzzy { term: text, similarity };
                }
                node
            }
            Token::BareOperator(c) => {
                self.bump();
                Node::Words(c.into())
            }
            Token::Star => {
                self.bump();
                match field {
                    Some("*") => Node::All,
                    _ => Node::Wildcard(vec![super::Piece::Any]),
                }
            }
            Token::Wildcard(pieces) => {
                self.bump();
                Node::Wildcard(pieces)
            }
            Token::Regex(text) => {
                self.bump();
                Node::Regex(text)
            }
            Token::Range { from, from_included, to, to_included } => {
                self.bump();
                Node::Range { from, from_included, to, to_included }
            }
            Token::Quoted(text) => {
                self.bump();
                let slop = self.fuzzy(0.0)?.unwrap_or(0.0) as u32;
                Node::Phrase { text, slop }
            }
            Token::End => return self.fails("a term is missing before the end"),
            Token::Close => return self.fails("a term is missing before `)`"),
            _ => return self.fails("a term is missing before this"),
        };
        let mut boost = 1.0;
        if let Token::Boost(number) = *self.kind() {
            self.bump();
            boost = number;
            // Lucene allows the similarity on either side of the boost.
            if let (Node::Words(text), Some(similarity)) = (&node, self.fuzzy(2.0)?) {
                let node = Node::Fuzzy { term: text.clone(), similarity };
                return Ok(Clause { field: field.map(str::to_owned), boost, node });
            }
        }
        Ok(Clause { field: field.map(str::to_owned), boost, node })
    }

    /// The number behind a `~` that comes next; `default` if it has none.
    fn fuzzy(&mut self, default: f32) -> Result<Option<f32>, ParseError> {
        let Token::Fuzzy(number) = *self.kind() else { return Ok(None) };
        let number = number.unwrap_or(default);
        if number > 1.0 && number.fract() != 0.0 {
            return self.fails("a number of edits or moves has no fraction");
        }
        self.bump();
        Ok(Some(number))
    }
}
