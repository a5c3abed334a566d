COPY `Person` (`id`,`name`,`born`,`score`,`ok`,`tags`,`at`,`big`,`u`,`m`,`s`) FROM "Person.parquet" (parallel=true);
COPY `City` (`name`,`pop`) FROM "City.parquet" (parallel=true);
COPY `Knows` (`since`) FROM "Knows_Person_Person.parquet" (to='Person', from='Person', parallel=true);
COPY `LivesIn` (`note`) FROM "LivesIn_Person_City.parquet" (to='City', from='Person', parallel=true);
COPY `LivesIn` (`note`) FROM "LivesIn_Person_Person.parquet" (to='Person', from='Person', parallel=true);
