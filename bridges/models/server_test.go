package models_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	asdk "github.com/anthropics/anthropic-sdk-go"
	aoption "github.com/anthropics/anthropic-sdk-go/option"
	osdk "github.com/openai/openai-go/v3"
	ooption "github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/bridges/models/anthropic"
	"github.com/openwop/agentmemory/bridges/models/openai"
)

// service is a local server that speaks both APIs in the shapes that the services have.
type service struct {
	url string
	// answer is what the model says, or a whole HTTP answer if it is one of the kinds below.
	answer func(task models.Task, request string) string
	mu     sync.Mutex
	asked  []string // bodies
}

// What a service does instead of answering with a text; the rest of the string is an argument.
const (
	doRefuse   = "\x00refuse"
	doTruncate = "\x00truncate" // ends for want of tokens
	doStatus   = "\x00status "
	doFail     = "\x00fail " // with a status and a body
	doBreak    = "\x00break" // the body ends before its length
	doRaw      = "\x00raw "  // a body that is not of the API
	doHang     = "\x00hang"
)

func serve(t *testing.T, answer func(models.Task, string) string) *service {
	s := &service{answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *service) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := string(raw)
	s.mu.Lock()
	s.asked = append(s.asked, body)
	s.mu.Unlock()
	task := models.Embed
	for key, of := range map[string]models.Task{`"same":`: models.Merge, `"arms":`: models.Infer, `"items":{"items":`: models.Summarize, `"facts":`: models.Extract, `"words":`: models.Expand} {
		if strings.Contains(body, `"properties":{`) && strings.Contains(body, key) {
			task = of
		}
	}
	text := s.answer(task, body)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(text, doStatus):
		var status int
		fmt.Sscan(text[len(doStatus):], &status)
		w.Header().Set("Retry-After-Ms", "1")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":%q}}`, "quoting: "+body[:min(len(body), 4000)])
		return
	case strings.HasPrefix(text, doFail):
		status, body, _ := strings.Cut(text[len(doFail):], " ")
		code, _ := strconv.Atoi(status)
		w.WriteHeader(code)
		fmt.Fprint(w, body)
		return
	case text == doBreak:
		w.Header().Set("Content-Length", "10000")
		fmt.Fprint(w, `{"id":"x","content":[{"type":"te`)
		return
	case strings.HasPrefix(text, doRaw):
		fmt.Fprint(w, text[len(doRaw):])
		return
	case text == doHang:
		<-r.Context().Done()
		return
	}
	encoded, _ := json.Marshal(text)
	switch r.URL.Path {
	case "/v1/messages":
		stop := "end_turn"
		switch text {
		case doRefuse:
			stop, encoded = "refusal", []byte(`""`)
		case doTruncate:
			stop, encoded = "max_tokens", []byte(`"{\"same\":true,\"te"`)
		}
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":%s}],
			"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":70,"cache_read_input_tokens":30,"cache_creation_input_tokens":0,"output_tokens":20}}`, encoded, stop)
	case "/v1/chat/completions":
		finish, refusal := "stop", "null"
		switch text {
		case doRefuse:
			refusal, encoded = `"I cannot help with that."`, []byte("null")
		case doTruncate:
			finish, encoded = "length", []byte(`"{\"same\":true,\"te"`)
		}
		fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"gpt-5","choices":[{"index":0,
			"message":{"role":"assistant","content":%s,"refusal":%s},"finish_reason":%q,"logprobs":null}],
			"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":30}}}`, encoded, refusal, finish)
	case "/v1/embeddings":
		fmt.Fprint(w, text)
	default:
		http.NotFound(w, r)
	}
}

// over are the models of both APIs, without a wait worth mentioning.
func (s *service) over(t *testing.T, cfg models.Config) map[string]*models.Models {
	a := asdk.NewClient(aoption.WithBaseURL(s.url), aoption.WithAPIKey("test"))
	o := osdk.NewClient(ooption.WithBaseURL(s.url+"/v1"), ooption.WithAPIKey("test"))
	if cfg.Tries == 0 {
		cfg.Tries = 1
	}
	all := map[string]*models.Models{}
	for name, model := range map[string]models.Model{"anthropic": anthropic.New(a, "claude-sonnet-4-5"), "openai": openai.New(o, "gpt-5")} {
		cfg.Model, cfg.Vectors = model, openai.NewVectors(o, "text-embedding-3-small", 0)
		m, err := models.New(cfg)
		require.NoError(t, err)
		all[name] = m
	}
	return all
}
