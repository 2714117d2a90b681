"""What a reference that a model wrote may call, by name. What is not here may not be called.

Left out on purpose, though torch has it: whatever takes or gives addresses, storage or other
people's memory (Tensor(), new, set_, resize_, as_strided, data_ptr, empty), sparse and quantized
tensors, whose indexes nothing checks, files, hooks, gradients, and random numbers, since a
reference that is right is right twice.
"""

_POINTWISE = """
    abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr arccos arccosh arcsin
    arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh baddbmm bitwise_and
    bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max
    clamp_min clip copysign cos cosh cumprod cumsum deg2rad digamma div divide eq erf erfc erfinv
    exp exp2 expm1 fill_diagonal fix float_power floor floor_divide fmod frac gcd ge greater
    greater_equal gt heaviside hypot i0 index_add index_copy index_fill index_put lcm ldexp le lerp
    less less_equal lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor
    logit lt masked_fill masked_scatter mul multiply nan_to_num ne neg negative nextafter not_equal
    polygamma pow rad2deg reciprocal relu remainder round rsqrt scatter scatter_add scatter_reduce
    sgn sigmoid sign sin sinc sinh sqrt square squeeze sub subtract t tan tanh transpose tril triu
    true_divide trunc unsqueeze xlogy
""".split()

_ON_TENSORS = """
    all allclose amax amin aminmax angle any argmax argmin argsort argwhere bincount bmm
    broadcast_to bucketize chunk clone conj corrcoef count_nonzero cov cross cummax cummin det
    detach diag diag_embed diagflat diagonal diagonal_scatter diff dist dot dsplit equal flatten
    flip fliplr flipud fmax fmin frexp gather ger histc hsplit imag index_reduce index_select inner
    inverse is_complex is_floating_point isclose isfinite isin isinf isnan isneginf isposinf isreal
    kron kthvalue log_softmax logaddexp logaddexp2 logcumsumexp logdet logsumexp masked_select
    matmul matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis movedim
    msort mv nanmean nanmedian nanquantile nansum narrow nonzero norm numel outer permute pinverse
    prod quantile ravel real renorm repeat_interleave reshape roll rot90 searchsorted select
    select_scatter signbit slice_scatter slogdet softmax sort split std std_mean sum swapaxes
    swapdims take take_along_dim tensor_split tile topk trace unbind unflatten unfold unique
    unique_consecutive var var_mean vdot vsplit where
""".split()

_METHODS_ONLY = """
    append bfloat16 bool contiguous copy_ cpu device dim double dtype element_size eps expand
    expand_as extend fill_ float H half indices int is_contiguous is_signed item itemsize long
    max mH mT ndim ndimension nelement new_full new_ones new_tensor new_zeros repeat reshape_as shape short
    size stride sum_to_size T tiny to tolist type_as values view view_as zero_
""".split()

_OF_TORCH = """
    adaptive_avg_pool1d arange atleast_1d atleast_2d atleast_3d avg_pool1d batch_norm bilinear
    block_diag broadcast_tensors cartesian_prod cat cdist celu channel_shuffle column_stack
    combinations complex concat concatenate constant_pad_nd conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d cosine_similarity cumulative_trapezoid dstack e einsum
    embedding eye finfo frobenius_norm full full_like group_norm gru_cell hardshrink hstack iinfo
    inf instance_norm layer_norm linspace lstm_cell max_pool1d max_pool2d max_pool3d meshgrid nan
    ones ones_like pairwise_distance pi pixel_shuffle pixel_unshuffle polar prelu rms_norm
    rnn_relu_cell rnn_tanh_cell row_stack scalar_tensor selu stack tensor tensordot threshold
    trapezoid tril_indices triu_indices vstack zeros zeros_like
""".split()

_FUNCTIONAL = """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d affine_grid avg_pool1d avg_pool2d avg_pool3d batch_norm
    bilinear binary_cross_entropy binary_cross_entropy_with_logits celu conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity
    cross_entropy elu embedding fold gaussian_nll_loss gelu glu grid_sample group_norm hardshrink
    hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div
    l1_loss layer_norm leaky_relu linear local_response_norm log_softmax logsigmoid lp_pool1d
    lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d mish mse_loss
    multi_margin_loss multilabel_soft_margin_loss nll_loss normalize one_hot pad pairwise_distance
    pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 rms_norm
    scaled_dot_product_attention selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin
    softplus softshrink softsign tanh tanhshrink threshold triplet_margin_loss unfold upsample
""".split()

_LINALG = """
    cholesky cond cross det diagonal eigh eigvalsh inv lstsq lu lu_factor matmul matrix_exp
    matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve solve_triangular svd
    svdvals tensorinv tensorsolve vander vecdot vector_norm
""".split()

_SPECIAL = """
    digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln i0 i0e i1 i1e
    log1p log_ndtr log_softmax logit logsumexp multigammaln ndtr ndtri polygamma psi round sinc
    softmax xlog1py xlogy zeta
""".split()

_FFT = """
    fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft
    rfft2 rfftfreq rfftn
""".split()

_TYPES = """
    bfloat16 bool cdouble cfloat complex128 complex64 double float float16 float32 float64 half int
    int16 int32 int64 int8 long short uint8
""".split()

_OF_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc
    exp exp2 expm1 fabs floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan
    isqrt lcm ldexp lgamma log log10 log1p log2 modf nan pi pow prod radians remainder sin sinh
    sqrt tan tanh tau trunc
""".split()

METHODS = {*_POINTWISE, *(name + "_" for name in _POINTWISE), *_ON_TENSORS, *_METHODS_ONLY}

# By the module that they are called on.
FUNCTIONS = {
    "math": set(_OF_MATH),
    "torch": {*_POINTWISE, *_ON_TENSORS, *_OF_TORCH, *_TYPES},
    "torch.nn.functional": set(_FUNCTIONAL),
    "torch.linalg": set(_LINALG),
    "torch.special": set(_SPECIAL),
    "torch.fft": set(_FFT),
}
