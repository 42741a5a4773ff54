/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mask.h"

#include "base/str.h"
#include "tests/tap.h"

static void holds(const char *want, char *const *argv)
{
	struct str words = {0};
	char *got;

	for (; *argv; argv++)
		str_addn(&words, *argv, strlen(*argv) + 1);
	got = mask_words(words.s, words.n);
	is_str(got, want, "%s", want);
	free(got);
	str_free(&words);
}

#define COMMAND(...) ((char *const *)(const char *const[]){__VA_ARGS__, NULL})

int main(void)
{
	struct str s = {0};

	holds("serve --api-key *** --port 80",
	      COMMAND("serve", "--api-key", "abc", "--port", "80"));
	holds("serve --api-key=*** x", COMMAND("serve", "--api-key=abc", "x"));
	holds("serve --hf-token *** --token=***", COMMAND("serve", "--hf-token", "t", "--token=t"));
	holds("env HF_TOKEN=*** DB_PASSWORD=*** A=1",
	      COMMAND("env", "HF_TOKEN=x", "DB_PASSWORD=y", "A=1"));
	holds("serve --tokenizer /m --max-tokens 5 --keyboard us",
	      COMMAND("serve", "--tokenizer", "/m", "--max-tokens", "5", "--keyboard", "us"));
	holds("serve --apiKey *** --clientSecret=***",
	      COMMAND("serve", "--apiKey", "k", "--clientSecret=k"));
	holds("serve --basic-auth *** --db-pass=*** --passes 2 --author me",
	      COMMAND("serve", "--basic-auth", "u:p", "--db-pass=p", "--passes", "2", "--author",
		      "me"));
	holds("serve --key --verbose", COMMAND("serve", "--key", "--verbose"));
	holds("get https://host:1/p x", COMMAND("get", "https://u:p@host:1/p?sig=1#f", "x"));
	holds("get --url=s3://b/k", COMMAND("get", "--url=s3://b/k?X=Y"));
	holds("get http://h two", COMMAND("get", "http://me@h", "two"));
	holds("sh -c HF_TOKEN=*** vllm serve --api-key *** m",
	      COMMAND("sh", "-c", "HF_TOKEN=x vllm serve --api-key y m"));
	holds("c --conf {\"api_key\": \"***\", \"n\": 1}",
	      COMMAND("c", "--conf", "{\"api_key\": \"a \\\" b\", \"n\": 1}"));
	holds("curl -H Authorization: ***", COMMAND("curl", "-H", "Authorization: Bearer x"));
	holds("sh -c : --api-key ***", COMMAND("sh", "-c", ": --api-key x"));
	holds("a: b", COMMAND("a:", "b"));
	holds("a  b", COMMAND("a", "", "b"));
	mask_command_json(COMMAND("a\"b", "--secret", "c"), &s);
	is_str(str_get(&s), "[\"a\\\"b\",\"--secret\",\"***\"]", "JSON");
	str_clear(&s);
	mask_variable("HF_TOKEN", "x", &s);
	is_str(str_get(&s), "***", "a secret variable");
	str_clear(&s);
	mask_variable("HF_ENDPOINT", "http://u:p@h/", &s);
	is_str(str_get(&s), "http://h/", "a variable with a URL");
	str_free(&s);
	return done_testing();
}
