CREATE NODE TABLE `Person` (`id` INT64,`name` STRING,`born` DATE,`score` DOUBLE,`ok` BOOL,`tags` STRING[],`at` TIMESTAMP,`big` UINT64,`u` UUID,`m` MAP(STRING, INT64),`s` STRUCT(a INT64, b STRING), PRIMARY KEY(`id`));
CREATE NODE TABLE `City` (`name` STRING,`pop` INT32, PRIMARY KEY(`name`));
CREATE REL TABLE `Knows` (FROM `Person` TO `Person`, `since` INT64,MANY_MANY);
CREATE REL TABLE `LivesIn` (FROM `Person` TO `City`, FROM `Person` TO `Person`, `note` STRING,MANY_MANY);
