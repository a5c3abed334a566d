//! Names of invented persons and the places they live in.

/// Given names.
pub const GIVEN: [&str; 64] = [
    "Ada", "Aiko", "Amara", "Amir", "Ana", "Anders", "Astrid", "Bao", "Beatriz", "Ben", "Camille",
    "Carlos", "Chen", "Chidi", "Clara", "Dara", "David", "Diego", "Elena", "Elif", "Emma", "Farid",
    "Fatima", "Finn", "Grace", "Hana", "Hugo", "Ines", "Ivan", "Jana", "Jonas", "Jun", "Kaito",
    "Kavya", "Leila", "Leo", "Lina", "Lucas", "Mai", "Malik", "Maria", "Mateo", "Mei", "Mila",
    "Nadia", "Nia", "Noah", "Nora", "Omar", "Oskar", "Paula", "Petra", "Priya", "Rafael", "Rosa",
    "Sana", "Sofia", "Tariq", "Theo", "Vera", "Wei", "Yara", "Yusuf", "Zoe",
];

/// Family names.
pub const FAMILY: [&str; 64] = [
    "Abara", "Ahmed", "Almeida", "Andersen", "Banerjee", "Bauer", "Becker", "Bianchi", "Castro",
    "Chavez", "Cohen", "Costa", "Demir", "Diallo", "Dubois", "Eriksen", "Farah", "Fischer",
    "Garcia", "Gupta", "Haddad", "Hansen", "Haruno", "Hoang", "Ibrahim", "Ito", "Ivanova",
    "Jansen", "Kaya", "Khan", "Kim", "Kovacs", "Kowalski", "Larsen", "Laurent", "Lee", "Lopez",
    "Mensah", "Meyer", "Mori", "Moreau", "Nakamura", "Ndlovu", "Nguyen", "Novak", "Okafor",
    "Olsen", "Park", "Pereira", "Popov", "Rahman", "Rossi", "Ruiz", "Sato", "Schmidt", "Silva",
    "Singh", "Suarez", "Tanaka", "Torres", "Wagner", "Weber", "Yilmaz", "Zhang",
];

/// Cities, larger ones first.
pub const CITIES: [&str; 24] = [
    "Tokyo", "Delhi", "Shanghai", "Cairo", "Mumbai", "Istanbul", "Lagos", "London", "Lima",
    "Bogota", "Paris", "Hanoi", "Madrid", "Nairobi", "Toronto", "Berlin", "Rome", "Accra",
    "Vienna", "Warsaw", "Lisbon", "Oslo", "Porto", "Bergen",
];
