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
	/* A script: its words are quoted, grouped and assigned as a shell or Python would. */
	holds("sh -c HF_TOKEN=*** exec x --token=*** y",
	      COMMAND("sh", "-c", "HF_TOKEN='a b' exec x --token=\"c d\" y"));
	holds("sh -c x --api-key *** y", COMMAND("sh", "-c", "x --api-key \"a b\" y"));
	holds("sh -c { x --api-key *** }; A=${B} HF_TOKEN=*** y",
	      COMMAND("sh", "-c", "{ x --api-key a; }; A=${B} HF_TOKEN=b y"));
	holds("sh -c curl -H \"Authorization: ***\" h",
	      COMMAND("sh", "-c", "curl -H \"Authorization: Bearer a\" h"));
	holds("sh -c bash -c 'HF_TOKEN=*** x --key *** y'",
	      COMMAND("sh", "-c", "bash -c 'HF_TOKEN=a x --key \"b c\" y'"));
	holds("sh -c x --json '{\"api_key\": \"***\", \"n\": 1}' -q",
	      COMMAND("sh", "-c", "x --json '{\"api_key\": \"a b\", \"n\": 1}' -q"));
	holds("sh -c it's --key ***", COMMAND("sh", "-c", "it's --key a"));
	holds("sh -c HF_TOKEN=*** x", COMMAND("sh", "-c", "HF_TOKEN=a\\ b x"));
	holds("py -c environ[\"HF_TOKEN\"]=*** token = *** n = 2",
	      COMMAND("py", "-c", "environ[\"HF_TOKEN\"]=\"a\"; token = \"b c\" n = 2"));
	holds("py -c if token == 3: pass", COMMAND("py", "-c", "if token == 3: pass"));
	holds("x [\"--api-key\",\"***\",\"--port\",\"80\"]",
	      COMMAND("x", "[\"--api-key\",\"a\",\"--port\",\"80\"]"));
	holds("x {'api_key': ***, 'port': 80}",
	      COMMAND("x", "{'api_key': ['a', 'b'], 'port': 80}"));
	/* Behind the name of another option, and grown together with other words. */
	holds("d --env=HF_TOKEN=*** -eHF_TOKEN=*** --set=a=b,auth.token=***",
	      COMMAND("d", "--env=HF_TOKEN=a", "-eHF_TOKEN=a", "--set=a=b,auth.token=a"));
	holds("curl --header=Authorization: *** -HX-Api-Key: ***",
	      COMMAND("curl", "--header=Authorization: Bearer a", "-HX-Api-Key: a b"));
	holds("env PGPASSWORD=*** HFTOKEN=*** x --authorization ***",
	      COMMAND("env", "PGPASSWORD=a", "HFTOKEN=b", "x", "--authorization", "Bearer c"));
	holds("get https://h/p", COMMAND("get", "https://u:p@h/p?key=a&x=b"));
	holds("d -v /keys/key:/keys -p 80:80",
	      COMMAND("d", "-v", "/keys/key:/keys", "-p", "80:80"));
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
