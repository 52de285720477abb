package apps

import (
	"math/rand"
	"os"
	"testing"

	"github.com/protuner/protuner/internal/bridge"
)

// every app, each with its trials.
var every = map[string][]func(*rand.Rand) trial{
	"bgu":                      {bgu},
	"bilateral_grid":           {bilateralGrid},
	"bilinear_resize":          {bilinearResize},
	"box_blur":                 {boxBlur},
	"camera_pipe":              {cameraPipe},
	"conv_layer":               {convLayer},
	"dct":                      {dct},
	"depthwise_separable_conv": {depthwiseSeparableConv},
	"gaussian_blur":            {gaussianBlur},
	"harris":                   {harris},
	"hist":                     {hist},
	"iir_blur":                 {iirBlur},
	"interpolate":              {interpolate},
	"lens_blur":                {lensBlur},
	"local_laplacian":          {localLaplacian},
	"mat_mul":                  {matMul},
	"max_filter":               {maxFilter},
	"nl_means":                 {nlMeans},
	"optical_flow":             {opticalFlow},
	"resnet50":                 {resnetBlockEnd, resnetStem},
	"sobel":                    {sobel},
	"softmax":                  {softmax},
	"stencil_chain":            {stencilChain},
	"unsharp":                  {unsharp},
	"yuv420":                   {yuvLuma, yuvChroma},
}

func param(name, value string) []bridge.Param { return []bridge.Param{{Name: name, Value: value}} }

func TestAppsAgreeWithPlainGo(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" && every[e.Name()] == nil {
			t.Errorf("%s has no reference", e.Name())
		}
	}
	for app, trials := range every {
		for _, make := range trials {
			tr := make(rand.New(rand.NewSource(1)))
			t.Run(app+tr.name, func(t *testing.T) {
				t.Parallel()
				check(t, app, tr)
			})
		}
	}
}
