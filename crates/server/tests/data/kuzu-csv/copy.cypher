COPY `Person` (`id`,`name`,`born`,`score`,`ok`,`tags`,`at`,`span`,`big`,`u`,`m`,`s`) FROM "Person.csv" (header=true, parallel=true);
COPY `City` (`name`,`pop`) FROM "City.csv" (header=true, parallel=true);
COPY `Knows` (`since`) FROM "Knows_Person_Person.csv" (to='Person', from='Person', header=true, parallel=true);
COPY `LivesIn` (`note`) FROM "LivesIn_Person_City.csv" (to='City', from='Person', header=true, parallel=true);
COPY `LivesIn` (`note`) FROM "LivesIn_Person_Person.csv" (to='Person', from='Person', header=true, parallel=true);
