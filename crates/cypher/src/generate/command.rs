//! Random commands.

use super::Generator;
use crate::ast::*;
use crate::span::Span;

impl Generator<'_> {
    fn entity(&mut self) -> EntityKind {
        self.one_of(&[EntityKind::Node, EntityKind::Relationship])
    }

    pub(super) fn name_or_parameter(&mut self) -> NameOrParameter {
        let name = self.name();
        if self.chance() { NameOrParameter::Parameter(name) } else { NameOrParameter::Name(name) }
    }

    fn options(&mut self) -> Option<Expr> {
        self.maybe(|g| {
            let entries = g.entries();
            Expr { kind: ExprKind::Map(entries), span: Span::default() }
        })
    }

    pub(super) fn create_index(&mut self) -> CreateIndex {
        let kind = self.index_kind();
        let entity = self.entity();
        let target = match kind {
            IndexKind::Lookup => IndexTarget::Lookup { entity },
            IndexKind::Fulltext | IndexKind::Vector => {
                IndexTarget::Properties { entity, labels: self.names(), keys: self.names() }
            }
            _ => IndexTarget::Properties { entity, labels: vec![self.name()], keys: self.names() },
        };
        CreateIndex {
            kind,
            name: self.maybe(Self::name_or_parameter),
            if_not_exists: self.chance(),
            target,
            filters: if kind == IndexKind::Vector && self.chance() { self.names() } else { vec![] },
            options: self.options(),
        }
    }

    fn index_kind(&mut self) -> IndexKind {
        self.one_of(&IndexKind::ALL)
    }

    pub(super) fn create_constraint(&mut self) -> CreateConstraint {
        CreateConstraint {
            name: self.maybe(Self::name_or_parameter),
            if_not_exists: self.chance(),
            entity: self.entity(),
            label: self.name(),
            keys: self.names(),
            requirement: match self.pick(4) {
                0 => Requirement::Unique,
                1 => Requirement::Key,
                2 => Requirement::NotNull,
                _ => Requirement::Typed(self.type_expr()),
            },
            options: self.options(),
        }
    }

    pub(super) fn drop_command(&mut self) -> DropCommand {
        DropCommand {
            constraint: self.chance(),
            name: self.name_or_parameter(),
            if_exists: self.chance(),
        }
    }

    pub(super) fn show(&mut self) -> Show {
        let target = match self.pick(12) {
            0 => ShowTarget::Indexes { kind: self.maybe(Self::index_kind) },
            1 => ShowTarget::Constraints(self.constraint_filter()),
            2 => ShowTarget::Procedures(self.executable()),
            3 => ShowTarget::Functions {
                built_in: self.one_of(&[None, Some(true), Some(false)]),
                executable: self.executable(),
            },
            4 => ShowTarget::Databases(match self.pick(4) {
                0 => DatabaseFilter::All,
                1 => DatabaseFilter::Default,
                2 => DatabaseFilter::Home,
                _ => DatabaseFilter::Named(self.name_or_parameter()),
            }),
            5 => ShowTarget::Users { auth: self.chance() },
            6 => ShowTarget::CurrentUser,
            7 => ShowTarget::Roles { populated: self.chance(), users: self.chance() },
            8 => ShowTarget::Privileges(match self.pick(3) {
                0 => PrivilegeFilter::All,
                1 => PrivilegeFilter::Roles(self.some(1, Self::name_or_parameter)),
                _ => PrivilegeFilter::Users(self.some(0, Self::name_or_parameter)),
            }),
            9 => ShowTarget::Settings { names: self.some(0, Self::expr) },
            10 => ShowTarget::Servers,
            _ => ShowTarget::Transactions { ids: self.some(0, Self::expr) },
        };
        Show { target, output: self.output() }
    }

    fn constraint_filter(&mut self) -> ConstraintFilter {
        let kinds = [
            ConstraintKind::Unique,
            ConstraintKind::Key,
            ConstraintKind::Existence,
            ConstraintKind::PropertyType,
        ];
        let kind = self.maybe(|g| g.one_of(&kinds));
        ConstraintFilter { entity: kind.and_then(|_| self.maybe(Self::entity)), kind }
    }

    fn executable(&mut self) -> Executable {
        match self.pick(3) {
            0 => Executable::Any,
            1 => Executable::ByCurrentUser,
            _ => Executable::By(self.name()),
        }
    }

    pub(super) fn terminate(&mut self) -> Terminate {
        Terminate { ids: self.some(1, Self::expr), output: self.output() }
    }

    pub(super) fn transaction_commands(&mut self) -> TransactionCommands {
        let commands = self.some(2, |g| {
            let terminates = g.chance();
            let ids = g.some(1, Self::expr);
            let items = g.some(1, Self::column);
            let yields = g.limits(false, false, items);
            TransactionCommand { terminates, ids, yields, filter: g.maybe(Self::expr) }
        });
        TransactionCommands { commands, returns: self.return_clause() }
    }

    pub(super) fn copy(&mut self) -> CopyCommand {
        let what = match self.chance() {
            true => CopyWhat::Into(self.some(1, Self::name)),
            false => CopyWhat::Out(self.query()),
        };
        let kind = match self.chance() {
            true => ExprKind::Literal(Literal::String("a.parquet".into())),
            false => ExprKind::Parameter(self.name()),
        };
        let file = Expr { kind, span: Span::default() };
        CopyCommand { what, file, options: self.some(0, |g| (g.name(), g.expr())) }
    }

    fn output(&mut self) -> CommandOutput {
        let yields = self.maybe(|g| {
            let star = g.chance();
            let items = if star { Vec::new() } else { g.some(1, Self::column) };
            g.limits(false, star, items)
        });
        let filter = self.maybe(Self::expr);
        let returns = yields.is_some().then(|| self.maybe(Self::return_clause)).flatten();
        CommandOutput { yields, filter, returns }
    }

    fn column(&mut self) -> ProjectionItem {
        let kind = ExprKind::Variable(self.name());
        let expr = Expr { kind, span: Span::default() };
        ProjectionItem { expr, alias: self.maybe(Self::name), span: Span::default() }
    }
}
