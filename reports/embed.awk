# SPDX-License-Identifier: Apache-2.0
# Each file NAME.sql becomes {"NAME", "its text"}.
BEGIN {
	print "/* made by reports/embed.awk */"
	print "#include \"store/report.h\"\n"
	print "const struct report store_reports[] = {"
}
FNR == 1 {
	if (NR > 1)
		print "\t},"
	name = FILENAME
	sub(/^.*\//, "", name)
	sub(/\.sql$/, "", name)
	printf "\t{\"%s\",\n", name
}
{
	gsub(/\\/, "\\\\")
	gsub(/"/, "\\\"")
	printf "\t \"%s\\n\"\n", $0
}
END {
	print "\t},"
	print "\t{NULL, NULL},"
	print "};"
}
