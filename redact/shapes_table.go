package redact

const (
	leakID    = "leak"
	entropyID = "random"
)

// shapes is the table of R5. Ids have at most seven bytes, so that no value long
// enough to be registered can occur in them. What follows an anchor is taken as
// far as its alphabet goes, without an upper limit: a longer token than the
// issuer's is no reason to let it pass.
var shapes = []shape{
	{Shape{leakID, "leak form [BYOK:…]", "RFC 0012, conformance"}, []string{"[BYOK:"}, false, bracketed},
	{Shape{leakID, "leak form <REDACTED:…>", "RFC 0004, RFC 0012"}, []string{"<REDACTED:"}, false, angled},

	{Shape{"pem-key", "private-key block", "RFC 7468 §10, RFC 9580 §6.2"}, []string{"-----BEGIN "}, false, pemKey},
	{Shape{"jwt", "JSON Web Token", "RFC 7519, RFC 7515 §3.1"}, []string{"eyJ"}, true, jwt},
	{Shape{"urlpass", "password in a URL", "RFC 3986 §3.2.1"}, []string{"://"}, false, urlPassword},
	{Shape{"dsnpass", "password in a connection string", "postgresql.org/docs/current/libpq-connect.html; learn.microsoft.com, SqlConnection.ConnectionString"},
		[]string{"password=", "Password=", "PASSWORD=", "pwd=", "Pwd=", "PWD="}, true, dsnPassword},
	{Shape{"bearer", "bearer token in a header", "RFC 6750 §2.1"}, []string{"Bearer ", "bearer "}, true, bearer},
	{Shape{"basic", "basic credentials in a header", "RFC 7617 §2"},
		[]string{"Authorization: Basic ", "authorization: Basic ", "authorization: basic "}, false, afterAnchor(&base64Any, 8)},

	{Shape{"openai", "OpenAI API key", "platform.openai.com/docs/api-reference/authentication"},
		[]string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, true, token(&word, 20)},
	{Shape{"openai", "OpenAI API key, older form", "platform.openai.com/docs/api-reference/authentication"},
		[]string{"sk-"}, true, token(&alnum, 40)},
	{Shape{"ant-key", "Anthropic API key", "docs.anthropic.com/en/api/overview"},
		[]string{"sk-ant-"}, true, token(&word, 20)},
	{Shape{"openrtr", "OpenRouter API key", "openrouter.ai/docs/api-reference/authentication"},
		[]string{"sk-or-v1-"}, true, token(&alnum, 32)},
	{Shape{"groq", "Groq API key", "console.groq.com/docs/quickstart"}, []string{"gsk_"}, true, token(&alnum, 40)},
	{Shape{"hf", "Hugging Face token", "huggingface.co/docs/hub/security-tokens"},
		[]string{"hf_", "api_org_"}, true, token(&alnum, 30)},
	{Shape{"replic8", "Replicate API token", "replicate.com/docs/reference/http"}, []string{"r8_"}, true, token(&alnum, 36)},

	{Shape{"github", "GitHub token", "docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github"},
		[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, false, token(&alnum, 36)},
	{Shape{"github", "GitHub fine-grained token", "docs.github.com, as above"},
		[]string{"github_pat_"}, false, token(&word, 40)},
	{Shape{"gitlab", "GitLab token", "docs.gitlab.com/security/tokens"},
		[]string{"glpat-", "gldt-", "glptt-", "glrt-", "glsoat-"}, true, token(&word, 20)},
	{Shape{"npm", "npm access token", "docs.npmjs.com/about-access-tokens"}, []string{"npm_"}, true, token(&alnum, 36)},
	{Shape{"pypi", "PyPI API token", "pypi.org/help/#apitoken"}, []string{"pypi-AgE"}, true, token(&word, 50)},

	{Shape{"aws", "AWS access key id", "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html"},
		[]string{"AKIA", "ASIA"}, true, token(&upperNum, 16)},
	{Shape{"aws", "AWS secret access key, named", "docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html"},
		[]string{"aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SecretAccessKey"}, false, assigned(40)},
	{Shape{"google", "Google API key", "cloud.google.com/docs/authentication/api-keys"},
		[]string{"AIza"}, true, token(&word, 35)},
	{Shape{"google", "Google OAuth client secret", "developers.google.com/identity/protocols/oauth2"},
		[]string{"GOCSPX-"}, true, token(&word, 28)},
	{Shape{"google", "Google OAuth access token", "cloud.google.com/docs/authentication/token-types"},
		[]string{"ya29."}, true, token(&word, 30)},
	{Shape{"azure", "Azure storage or bus key", "learn.microsoft.com/azure/storage/common/storage-configure-connection-string"},
		[]string{"AccountKey=", "SharedAccessKey="}, false, afterAnchor(&base64Any, 40)},
	{Shape{"do", "DigitalOcean token", "docs.digitalocean.com/reference/api/create-personal-access-token"},
		[]string{"dop_v1_", "doo_v1_", "dor_v1_"}, true, token(&alnum, 64)},
	{Shape{"vault", "HashiCorp Vault token", "developer.hashicorp.com/vault/docs/concepts/tokens"},
		[]string{"hvs.", "hvb.", "hvr."}, true, token(&word, 24)},
	{Shape{"dbricks", "Databricks token", "docs.databricks.com/dev-tools/auth/pat.html"},
		[]string{"dapi"}, true, token(&hexDigits, 32)},
	{Shape{"age", "age identity", "age-encryption.org/v1"}, []string{"AGE-SECRET-KEY-1"}, false, token(&upperNum, 58)},

	{Shape{"stripe", "Stripe secret or restricted key", "docs.stripe.com/keys"},
		[]string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, true, token(&alnum, 24)},
	{Shape{"stripe", "Stripe webhook secret", "docs.stripe.com/webhooks"}, []string{"whsec_"}, true, token(&base64Any, 32)},
	{Shape{"shopify", "Shopify access token", "shopify.dev/docs/apps/build/authentication-authorization"},
		[]string{"shpat_", "shpca_", "shppa_", "shpss_"}, true, token(&hexDigits, 32)},
	{Shape{"slack", "Slack token", "api.slack.com/concepts/token-types"},
		[]string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe.", "xapp-"}, true, token(&word, 20)},
	{Shape{"slack", "Slack webhook", "api.slack.com/messaging/webhooks"},
		[]string{"hooks.slack.com/services/"}, false, slackHook},
	{Shape{"sendgrd", "SendGrid API key", "www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys"},
		[]string{"SG."}, true, sendGrid},
	{Shape{"telegrm", "Telegram bot token in a URL", "core.telegram.org/bots/api#authorizing-your-bot"},
		[]string{"api.telegram.org/bot"}, false, telegram},
	{Shape{"linear", "Linear API key", "linear.app/developers/graphql"}, []string{"lin_api_"}, true, token(&alnum, 32)},
	{Shape{"grafana", "Grafana service account token", "grafana.com/docs/grafana/latest/administration/service-accounts"},
		[]string{"glsa_"}, true, token(&word, 32)},
}
