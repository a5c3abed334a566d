CREATE NODE TABLE `Person` (`id` INT64,`name` STRING,`born` DATE,`score` DOUBLE,`ok` BOOL,`tags` STRING[],`at` TIMESTAMP,`big` UINT64,`u` UUID,`m` MAP(STRING, INT64),`s` STRUCT(a INT64, b STRING), PRIMARY KEY(`id`)) WITH (storage = 'ladybug', format = 'icebug-disk');
CREATE NODE TABLE `City` (`name` STRING,`pop` INT32, PRIMARY KEY(`name`)) WITH (storage = 'ladybug', format = 'icebug-disk');
CREATE REL TABLE `Knows` (FROM `Person` TO `Person`, `since` INT64,MANY_MANY) WITH (storage = 'ladybug', format = 'icebug-disk');
CREATE REL TABLE `LivesIn` (FROM `Person` TO `City`, `note` STRING,MANY_MANY) WITH (storage = 'ladybug', format = 'icebug-disk');
