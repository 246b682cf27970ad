# Fit trees of R on the folds of a table: Rscript r_trees.R TABLE.csv ANSWERS.csv
#
# The table has a column "fold" (each fold is predicted by a tree of the others), one
# "target", and features: those whose names begin with "c" are categories. The answers
# have a row for each tree and row: rule, fold, row, leaves and CPU seconds of its
# tree, then the probability of each class. A rule that fails or takes more than
# ten minutes has no rows.
suppressPackageStartupMessages({library(rpart); library(partykit)})

files <- commandArgs(TRUE)
table <- read.csv(files[1], na.strings = "", stringsAsFactors = FALSE)
fold <- table$fold
classes <- sort(unique(table$target))
table$fold <- NULL
table$target <- factor(table$target, levels = classes)
for (name in grep("^c", names(table), value = TRUE))
  table[[name]] <- factor(table[[name]])

cpu <- function() sum(proc.time()[c("user.self", "sys.self")])
leaves_of_rpart <- function(tree) sum(tree$frame$var == "<leaf>")
rules <- list(
  "rpart" = list(
    fit = function(rows) rpart(target ~ ., rows, method = "class"),
    leaves = leaves_of_rpart
  ),
  "rpart, pruned by CV" = list(
    fit = function(rows) {
      tree <- rpart(target ~ ., rows, method = "class", control = list(cp = 0))
      found <- tree$cptable
      if (!"xerror" %in% colnames(found)) return(tree)  # a tree without a split
      prune(tree, cp = found[which.min(found[, "xerror"]), "CP"])
    },
    leaves = leaves_of_rpart
  ),
  "partykit::ctree" = list(
    fit = function(rows) ctree(target ~ ., rows),
    leaves = function(tree) width(tree)
  )
)

answer <- function(rule, one) {
  set.seed(one)
  rows <- table[fold != one, ]
  rows <- droplevels(rows)
  start <- cpu()
  tree <- rule$fit(rows)
  seconds <- cpu() - start
  others <- table[fold == one, ]
  for (name in grep("^c", names(rows), value = TRUE))  # unknown categories are missing
    others[[name]] <- factor(others[[name]], levels = levels(rows[[name]]))
  found <- predict(tree, others, type = "prob")
  every <- matrix(0, nrow(others), length(classes))
  every[, match(levels(rows$target), classes)] <- found
  cbind(one, which(fold == one) - 1, rule$leaves(tree), seconds, every)
}

for (rule in rules) rule$fit(data.frame(target = iris$Species, iris[1:4]))  # loads all
for (name in names(rules)) {
  setTimeLimit(cpu = 600, transient = TRUE)
  found <- tryCatch(
    do.call(rbind, lapply(sort(unique(fold)), function(one) answer(rules[[name]], one))),
    error = function(failure) {
      message(name, ": ", conditionMessage(failure))
      NULL
    }
  )
  setTimeLimit()
  if (!is.null(found))
    write.table(
      data.frame(name, found), files[2], append = TRUE, sep = ",",
      row.names = FALSE, col.names = FALSE
    )
}
